// A bakery's bot in Express: OpenAI's SDK takes the order, this program knows the prices.
import { readFileSync } from "node:fs";
import express from "express";
import OpenAI from "openai";

const PRICES = { bread: 65, cake: 1200 };
const prompt = readFileSync("prompts/baker.md", "utf8");
const openai = new OpenAI(); // reads OPENAI_BASE_URL and OPENAI_API_KEY
const order = { item: { type: "string", enum: Object.keys(PRICES) }, quantity: { type: "integer" } };
const parameters = { type: "object", properties: order, required: ["item", "quantity"] };
const tools = [{ type: "function", function: { name: "place_order", description: "Order bread or cake.", parameters } }];

const app = express().use(express.json());
app.get("/health", (request, response) => response.json({}));
app.post("/chat", async (request, response) => {
  const { text, earlier } = request.body;
  const messages = [{ role: "system", content: prompt }, ...earlier, { role: "user", content: text }];
  const completion = await openai.chat.completions.create({ model: "gpt-5-mini", messages, tools });
  const { content, tool_calls: ordered = [] } = completion.choices[0].message;
  const calls = ordered.map((call) => ({ name: call.function.name, args: JSON.parse(call.function.arguments) }));
  const bills = calls.map(({ args }) => `Merci. KES ${args.quantity * PRICES[args.item]}.`);
  response.json({ text: [content, ...bills].filter(Boolean).join(" "), calls });
});
app.listen(process.env.PORT ?? 3000);
