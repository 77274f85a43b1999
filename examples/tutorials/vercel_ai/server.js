// A bakery's bot: the Vercel AI SDK takes the order, this program knows the prices.
import { readFileSync } from "node:fs";
import { openai } from "@ai-sdk/openai";
import { generateText, tool } from "ai";
import express from "express";
import { z } from "zod";

const PRICES = { bread: 65, cake: 1200 };
const system = readFileSync("prompts/baker.md", "utf8");
const inputSchema = z.object({ item: z.enum(["bread", "cake"]), quantity: z.number().int() });
const tools = { place_order: tool({ description: "Order bread or cake.", inputSchema }) };

const app = express().use(express.json());
app.get("/health", (request, response) => response.json({}));
app.post("/chat", async (request, response) => {
  const { text, earlier } = request.body;
  const messages = [...earlier, { role: "user", content: text }];
  const result = await generateText({ model: openai("gpt-5-mini"), system, messages, tools });
  const calls = result.toolCalls.map((call) => ({ name: call.toolName, args: call.input }));
  const bills = calls.map(({ args }) => `Merci. KES ${args.quantity * PRICES[args.item]}.`);
  response.json({ text: [result.text, ...bills].filter(Boolean).join(" "), calls });
});
app.listen(process.env.PORT ?? 3000);
