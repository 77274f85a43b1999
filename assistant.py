def answer(message, history):
    start = {"right": "2026-03-30T14:00:00+02:00", "wrong": "2026-03-30T14:00:00+01:00"}[message]
    return {"text": "ok", "tool_calls": [{"name": "book", "args": {"start": start}}]}
