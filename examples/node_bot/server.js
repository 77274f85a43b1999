// A bakery's bot: a model reads the order, this program knows the prices.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const PRICES = { bread: 65, cake: 1200 };
const prompt = await readFile("prompts/baker.md", "utf8");

async function askModel(messages) {
  const answer = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
    body: JSON.stringify({
      model: "gpt-5-mini",
      max_completion_tokens: 300,
      messages: [{ role: "system", content: prompt }, ...messages],
    }),
  });
  if (!answer.ok) throw new Error(`the model answered ${answer.status}: ${await answer.text()}`);
  return JSON.parse((await answer.json()).choices[0].message.content);
}

async function chat({ text, earlier }) {
  const { say, order } = await askModel([...earlier, { role: "user", content: text }]);
  if (!order) return { text: say, state: "TALKING", calls: [] };
  const total = order.quantity * PRICES[order.item];
  return {
    text: `Thank you! ${order.quantity} × ${order.item} is KES ${total}.`,
    state: "ORDERED",
    calls: [{ name: "place_order", args: order }],
  };
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const body = request.url === "/health" ? {} : await chat(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  } catch (problem) {
    console.error(problem);
    response.writeHead(500).end(String(problem));
  }
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
