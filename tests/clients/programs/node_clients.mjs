// One conversation with each client for Node, as python_clients.py has it for Python: node node_clients.mjs NAME.
const GREETING = "Greet me in Swahili.";
const QUESTION = "How warm is it in Nairobi?";
const [GPT, CLAUDE] = ["gpt-5.2", "claude-haiku-4-5"];
const NAME = "get_weather";
const ABOUT = "The weather in a city.";
const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const getWeather = ({ city }) => `21 degrees in ${city}`;
const asked = (text) => [{ role: "user", content: text }];

async function joined(pieces, text) {
  let all = "";
  for await (const piece of pieces) all += text(piece) ?? "";
  return all;
}

async function openaiChat() {
  const { default: OpenAI } = await import("openai");
  const create = (given) => new OpenAI().chat.completions.create({ model: GPT, ...given });
  const tools = [{ type: "function", function: { name: NAME, description: ABOUT, parameters: SCHEMA } }];
  const whole = (await create({ messages: asked(GREETING) })).choices[0].message.content;
  const stream = await create({ messages: asked(GREETING), stream: true });
  const streamed = await joined(stream, (part) => part.choices[0]?.delta.content);
  const first = (await create({ messages: asked(QUESTION), tools })).choices[0].message;
  const call = first.tool_calls[0];
  const result = { role: "tool", tool_call_id: call.id, content: getWeather(JSON.parse(call.function.arguments)) };
  const last = await create({ messages: [...asked(QUESTION), first, result], tools });
  return { whole, streamed, tool: last.choices[0].message.content };
}

async function openaiResponses() {
  const { default: OpenAI } = await import("openai");
  const create = (given) => new OpenAI().responses.create({ model: GPT, ...given });
  const tools = [{ type: "function", name: NAME, description: ABOUT, parameters: SCHEMA, strict: false }];
  const whole = (await create({ input: GREETING })).output_text;
  const stream = await create({ input: GREETING, stream: true });
  const streamed = await joined(stream, (event) => (event.type === "response.output_text.delta" ? event.delta : ""));
  const first = await create({ input: QUESTION, tools });
  const call = first.output.find((item) => item.type === "function_call");
  const output = getWeather(JSON.parse(call.arguments));
  const input = [{ type: "function_call_output", call_id: call.call_id, output }];
  const last = await create({ input, tools, previous_response_id: first.id });
  return { whole, streamed, tool: last.output_text };
}

async function anthropic() {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const messages = new Anthropic().messages;
  const given = { model: CLAUDE, max_tokens: 200 };
  const tools = [{ name: NAME, description: ABOUT, input_schema: SCHEMA }];
  const whole = (await messages.create({ ...given, messages: asked(GREETING) })).content[0].text;
  const streamed = await messages.stream({ ...given, messages: asked(GREETING) }).finalText();
  const first = await messages.create({ ...given, messages: asked(QUESTION), tools });
  const call = first.content.find((block) => block.type === "tool_use");
  const result = { type: "tool_result", tool_use_id: call.id, content: getWeather(call.input) };
  const talk = [...asked(QUESTION), { role: "assistant", content: first.content }, { role: "user", content: [result] }];
  const last = await messages.create({ ...given, messages: talk, tools });
  return { whole, streamed, tool: last.content[0].text };
}

async function vercel(model) {
  const { generateText, jsonSchema, stepCountIs, streamText, tool } = await import("ai");
  const tools = { [NAME]: tool({ description: ABOUT, inputSchema: jsonSchema(SCHEMA), execute: getWeather }) };
  const whole = (await generateText({ model, prompt: GREETING })).text;
  const streamed = await joined(streamText({ model, prompt: GREETING }).textStream, (piece) => piece);
  const last = await generateText({ model, prompt: QUESTION, tools, stopWhen: stepCountIs(3) });
  return { whole, streamed, tool: last.text };
}

async function vercelOpenai() {
  const { openai } = await import("@ai-sdk/openai");
  return vercel(openai(GPT));
}

async function vercelOpenaiChat() {
  const { openai } = await import("@ai-sdk/openai");
  return vercel(openai.chat(GPT));
}

async function vercelAnthropic() {
  const { anthropic: provider } = await import("@ai-sdk/anthropic");
  return vercel(provider(CLAUDE));
}

async function vercelGoogle() {
  const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
  const { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: apiKey } = process.env;
  return vercel(createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey })("gemini-2.5-flash"));
}

async function googleGenai() {
  const { GoogleGenAI } = await import("@google/genai");
  const models = new GoogleGenAI({}).models;
  const model = "gemini-2.5-flash";
  const config = { tools: [{ functionDeclarations: [{ name: NAME, description: ABOUT, parametersJsonSchema: SCHEMA }] }] };
  const whole = (await models.generateContent({ model, contents: GREETING })).text;
  const streamed = await joined(await models.generateContentStream({ model, contents: GREETING }), (part) => part.text);
  const user = { role: "user", parts: [{ text: QUESTION }] };
  const first = await models.generateContent({ model, contents: [user], config });
  const call = first.functionCalls[0];
  const result = { functionResponse: { id: call.id, name: NAME, response: { output: getWeather(call.args) } } };
  const contents = [user, first.candidates[0].content, { role: "user", parts: [result] }];
  return { whole, streamed, tool: (await models.generateContent({ model, contents, config })).text };
}

async function langchain(model) {
  const { HumanMessage, ToolMessage } = await import("@langchain/core/messages");
  const { tool } = await import("@langchain/core/tools");
  const weather = tool(getWeather, { name: NAME, description: ABOUT, schema: SCHEMA });
  const bound = model.bindTools([weather]);
  const user = new HumanMessage(QUESTION);
  const first = await bound.invoke([user]);
  const call = first.tool_calls[0];
  const result = new ToolMessage({ content: getWeather(call.args), tool_call_id: call.id });
  const last = await bound.invoke([user, first, result]);
  const whole = (await model.invoke(GREETING)).text;
  return { whole, streamed: await joined(await model.stream(GREETING), (part) => part.text), tool: last.text };
}

async function langchainOpenai() {
  const { ChatOpenAI } = await import("@langchain/openai");
  return langchain(new ChatOpenAI({ model: GPT }));
}

async function langchainOpenaiResponses() {
  const { ChatOpenAI } = await import("@langchain/openai");
  return langchain(new ChatOpenAI({ model: GPT, useResponsesApi: true }));
}

async function langchainAnthropic() {
  const { ChatAnthropic } = await import("@langchain/anthropic");
  return langchain(new ChatAnthropic({ model: CLAUDE, maxTokens: 200 }));
}

const CLIENTS = {
  "openai": openaiChat,
  "openai responses": openaiResponses,
  "@anthropic-ai/sdk": anthropic,
  "@google/genai": googleGenai,
  "@ai-sdk/openai": vercelOpenai,
  "@ai-sdk/openai chat": vercelOpenaiChat,
  "@ai-sdk/anthropic": vercelAnthropic,
  "@ai-sdk/google": vercelGoogle,
  "@langchain/openai": langchainOpenai,
  "@langchain/openai responses": langchainOpenaiResponses,
  "@langchain/anthropic": langchainAnthropic,
};

console.log(JSON.stringify(await CLIENTS[process.argv[2]]()));
