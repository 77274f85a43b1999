// A bakery's bot in Go: the model takes the order, this program knows the prices.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

type order struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

type call struct {
	Name string `json:"name"`
	Args order  `json:"args"`
}

var prices = map[string]int{"bread": 65, "cake": 1200}

const tools = `[{"type": "function", "function": {"name": "place_order", "description": "Order bread or cake.",
	"parameters": {"type": "object", "required": ["item", "quantity"],
		"properties": {"item": {"type": "string", "enum": ["bread", "cake"]}, "quantity": {"type": "integer"}}}}}]`

// complete calls the model at the address and with the key that the gate sets.
func complete(messages []any) (text string, calls []call, err error) {
	asked := map[string]any{"model": "gpt-5-mini", "messages": messages, "tools": json.RawMessage(tools)}
	body, err := json.Marshal(asked)
	if err != nil {
		return "", nil, err
	}
	request, err := http.NewRequest("POST", os.Getenv("OPENAI_BASE_URL")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct{ Function struct{ Name, Arguments string } } `json:"tool_calls"`
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return "", nil, fmt.Errorf("the model answered with status %d", response.StatusCode)
	}
	message := answer.Choices[0].Message
	for _, tool := range message.ToolCalls {
		made := call{Name: tool.Function.Name}
		if err := json.Unmarshal([]byte(tool.Function.Arguments), &made.Args); err != nil {
			return "", nil, err
		}
		calls = append(calls, made)
	}
	return message.Content, calls, nil
}

func main() {
	prompt, err := os.ReadFile("prompts/baker.md")
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/chat", func(writer http.ResponseWriter, request *http.Request) {
		var asked struct {
			Text    string
			Earlier []any
		}
		if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		messages := []any{map[string]string{"role": "system", "content": string(prompt)}}
		messages = append(messages, asked.Earlier...)
		messages = append(messages, map[string]string{"role": "user", "content": asked.Text})
		text, calls, err := complete(messages)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadGateway)
			return
		}
		for _, made := range calls {
			text += fmt.Sprintf("Merci. KES %d.", made.Args.Quantity*prices[made.Args.Item])
		}
		json.NewEncoder(writer).Encode(map[string]any{"text": text, "calls": calls})
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
