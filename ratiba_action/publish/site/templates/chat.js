"use strict";
// The chat of `ratiba view --chat`: posts lines, and shows what came of them. Texts are set as texts, never as markup.
(() => {
  const { element, made, listen } = ratiba;
  const log = element("chat-log");
  const state = element("chat-state");
  let taken = [];
  let lost = "The connection is lost. Is ratiba view still running?";
  const json = (value) => JSON.stringify(value);
  const wait = () => {
    state.textContent = "Waiting for the reply …";
  };
  // Whether the line was taken; if not, the reader sees why.
  const post = async (line) => {
    wait();
    try {
      const answer = await fetch("chat/say", { method: "POST", headers: { "Content-Type": "application/json" }, body: json({ line }), signal: AbortSignal.timeout(10000) });
      if (!answer.ok) {
        state.textContent = await answer.text();
      }
      return answer.ok;
    } catch {
      state.textContent = "The line could not be sent. Is ratiba view still running?";
      return false;
    }
  };

  const add = (name, ...parts) => {
    const box = made("div", "", name);
    box.append(...parts.filter((part) => part !== ""));
    log.append(box);
    log.scrollTop = log.scrollHeight;
  };
  const call = (tool) => `${tool.name}(${Object.entries(tool.args).map(([name, value]) => `${name}=${json(value)}`).join(", ")})${tool.output === null ? "" : ` → ${json(tool.output)}`}`;
  const facts = (rows) => {
    const table = made("table", "");
    for (const [name, text] of rows) {
      const row = made("tr", "");
      row.append(Object.assign(made("th", name), { scope: "row" }), made("td", text));
      table.append(row);
    }
    return table;
  };
  const cost = (thing) => {
    const calls = thing.model_calls === 0 ? "no model call" : `${thing.model_calls} model call${thing.model_calls === 1 ? "" : "s"}${thing.recorded ? " (recorded)" : ""}`;
    return `USD ${Number(thing.paid_usd).toFixed(4)} paid, ${calls}, ${thing.seconds.toFixed(1)} s; USD ${Number(thing.spent_usd).toFixed(4)} of ${Number(thing.cap_usd).toFixed(2)} spent`;
  };
  const seen = (thing) => [
    ...(thing.state === null ? [] : [["state", thing.state_before === null || thing.state_before === thing.state ? thing.state : `${thing.state_before} → ${thing.state}`]]),
    ...(thing.payment === null ? [] : [["payment", thing.payment]]),
    ...thing.tools.map((tool) => ["tool", call(tool)]),
    ...thing.events.map((event) => ["event", `${event.type} ${json(event.data)}`]),
    ...thing.documents.map((name) => ["document", name]),
    ...(thing.output === null ? [] : [["output", json(thing.output)]]),
    ...thing.rows.flatMap((change) => [...change.removed.map((row) => ["rows", `${change.table} - ${json(row)}`]), ...change.added.map((row) => ["rows", `${change.table} + ${json(row)}`])]),
  ];
  const offered = (thing) => {
    const form = made("form", "");
    form.append(made("p", "What was the same in two tenants can be asserted of the last turn:"));
    for (const offer of thing.offers) {
      const label = made("label", "", "chat-offer");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", value: offer.number, checked: thing.chosen.includes(offer.shown) });
      label.append(box, ` ${offer.shown}`);
      form.append(label);
    }
    form.append(made("button", "Assert these"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = Array.from(form.querySelectorAll("input:checked"), (box) => box.value);
      post(`/expect ${chosen.length === 0 ? "none" : chosen.join(" ")}`);
    });
    return form;
  };
  const beside = (thing) => {
    const table = made("table", "");
    const heads = made("tr", "");
    heads.append(...["turn", "this checkout", "base"].map((name) => Object.assign(made("th", name), { scope: "col" })));
    table.append(heads);
    taken.forEach((turn, at) => {
      const theirs = thing.turns[at];
      const row = made("tr", "");
      const cells = [turn, theirs].map((each) => (each === undefined ? "(did not answer)" : [each.reply, ...seen(each).map((fact) => fact.join(" "))].join("\n")));
      row.append(Object.assign(made("th", `${at + 1} ${theirs?.same ? "=" : "≠"}`), { scope: "row" }), ...cells.map((text) => made("td", text, "chat-cell")));
      row.querySelectorAll("td").forEach((cell, place) => {
        cell.dataset.label = ["this checkout", "base"][place];
      });
      table.append(row);
    });
    return table;
  };
  const show = {
    ready: () => {
      state.textContent = "Ready.";
    },
    start: (thing) => add("soft", made("p", thing.keys), ...thing.notes.map((note) => made("p", `note: ${note}`)), made("p", `customer ${thing.customer.name}, ${thing.customer.phone}; now ${thing.now}; language ${thing.language}`)),
    line: (thing) => {
      wait(); // also where another window has posted it
      if (thing.line.startsWith("/")) {
        add("soft chat-command", made("p", thing.line));
      } else {
        add("chat-customer", made("b", "customer"), made("p", thing.line));
      }
    },
    masked: (thing) => add("soft", made("p", `sent masked: ${typeof thing.sent === "string" ? thing.sent : json(thing.sent)}`)),
    turn: (thing) => {
      taken.push(thing);
      const own = [["production", thing.production]].filter(([, text]) => text !== undefined);
      add("chat-system card", made("b", "system"), made("p", thing.reply === "" ? "(an empty reply)" : thing.reply), facts([...seen(thing), ...own]), made("p", cost(thing), "soft"));
    },
    taken_back: (thing) => add("soft", made("p", `taken back; turns: ${thing.turns}`)),
    undone: (thing) => {
      taken = taken.slice(0, thing.turns);
      add("soft", made("p", `taken back; turns: ${thing.turns}, repeated for USD ${Number(thing.paid_usd).toFixed(4)}`));
    },
    new: () => {
      taken = [];
      add("soft", made("p", "a new conversation; nothing has been said"));
    },
    about: (thing) => {
      taken = [];
      add("soft", made("p", `customer ${thing.customer.name}, ${thing.customer.phone}; now ${thing.now}`));
    },
    base: (thing) => add("card", beside(thing), made("p", [thing.error === null ? "" : `The base ended: ${thing.error}`, `USD ${Number(thing.paid_usd).toFixed(4)} paid for the base`].filter(Boolean).join(" "), "soft")),
    score: (thing) => add("card", made("p", `${thing.metric} ${thing.value.toFixed(2)}${thing.reason === "" ? "" : `: ${thing.reason}`}`), made("p", `USD ${Number(thing.paid_usd).toFixed(4)} paid`, "soft")),
    expect: (thing) => add("card", thing.offers.length > 0 ? offered(thing) : "", made("p", thing.chosen.length === 0 ? "nothing is asserted of this turn" : `asserted: ${thing.chosen.join("; ")}`)),
    saved: (thing) => add("card", made("p", `${thing.id} passed again with its recorded answers: ${thing.assertions} assertions. Written: ${thing.written.join(", ")}`)),
    mutating: () => add("soft", made("p", "Faults are put into a copy of the system …")),
    mutants: (thing) => add("card", ...thing.lines.map((line) => made("p", line))),
    labelled: (thing) => add("card", made("p", `labelled as ${thing.label}: ${thing.id} in the calibration set`)),
    help: (thing) => add("card", made("pre", thing.text)),
    error: (thing) => add("note failed", made("p", thing.problem, "tone"), made("p", thing.remedy)),
    end: () => {
      lost = "The chat has ended, and was not saved.";
      state.textContent = lost;
    },
  };
  listen("chat/events", "", (thing) => show[thing.kind]?.(thing), () => {
    state.textContent = lost;
  });

  const line = element("chat-line");
  element("chat-say").addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = line.value;
    line.value = "";
    line.focus();
    if (!(await post(typed))) {
      line.value = [typed, line.value].filter(Boolean).join("\n"); // below it, what was typed meanwhile
    }
  });
  line.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      element("chat-say").requestSubmit();
    }
  });
  document.querySelectorAll("button[data-line]").forEach((button) => button.addEventListener("click", () => post(button.dataset.line)));
  document.querySelectorAll("form.chat-one").forEach((form) => form.addEventListener("submit", (event) => {
    event.preventDefault();
    const word = event.submitter?.value ?? "";
    post([form.dataset.line, word, form.querySelector("input").value.trim()].filter(Boolean).join(" "));
  }));
})();
