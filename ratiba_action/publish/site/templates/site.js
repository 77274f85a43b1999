"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const chosen = document.documentElement.dataset;
  // A browser may keep nothing for a file, or for anybody: then the choice ends with the page.
  const kept = (use) => {
    try {
      return use(localStorage);
    } catch {
      return null;
    }
  };
  const theme = element("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => chosen.theme === "dark" || (chosen.theme !== "light" && dark.matches);
  const wear = (name) => {
    if (name === "dark" || name === "light") {
      chosen.theme = name;
    }
    theme.textContent = isDark() ? "Light mode" : "Dark mode";
  };
  wear(kept((storage) => storage.getItem("ratiba-theme")));
  dark.addEventListener("change", () => wear(""));
  theme.hidden = false;
  theme.addEventListener("click", () => {
    wear(isDark() ? "light" : "dark");
    kept((storage) => storage.setItem("ratiba-theme", chosen.theme));
  });

  // Filters of a list; the address has them, so that it can be sent to somebody.
  const controls = element("controls");
  const rows = Array.from(document.querySelectorAll("[data-row]"));
  if (controls !== null) {
    const fields = Array.from(controls.querySelectorAll("input, select"));
    const fits = (row, field) => {
      const wanted = field.value.toLowerCase();
      const texts = (row.dataset[field.name] ?? "").toLowerCase();
      return field.tagName === "SELECT" ? wanted === "" || texts.split("\n").includes(wanted) :
        wanted.split(/\s+/).every((word) => texts.includes(word));
    };
    const show = () => {
      const used = fields.filter((field) => field.value !== "");
      let shown = 0;
      for (const row of rows) {
        row.hidden = !used.every((field) => fits(row, field));
        shown += row.hidden ? 0 : 1;
      }
      element("count").textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
    };
    const read = () => {
      const wanted = new URLSearchParams(location.hash.startsWith("#filter?") ? location.hash.slice(8) : "");
      for (const field of fields) {
        const value = wanted.get(field.name) ?? "";
        field.value = field.tagName !== "SELECT" || Array.from(field.options).some((option) => option.value === value) ? value : "";
      }
      show();
    };
    controls.addEventListener("input", () => {
      const used = new URLSearchParams(fields.filter((field) => field.value !== "").map((field) => [field.name, field.value]));
      history.replaceState(null, "", used.size === 0 ? "#" : `#filter?${used}`);
      show();
    });
    window.addEventListener("hashchange", read);
    controls.hidden = rows.length < 2;
    read();
  }

  // Runs side by side: texts are set as texts, never as markup.
  const choice = element("choice");
  if (choice !== null) {
    const data = JSON.parse(element("data").textContent);
    const places = new Map(data.runs.map((run, place) => [run.id, place]));
    const names = { p: "passed", f: "failed", i: "incomplete", "-": "" };
    const selects = Array.from(choice.querySelectorAll("select"));
    selects.forEach((select, at) => {
      select.append(...data.runs.map((run) => new Option(run.label, run.id)));
      // Without a choice, the newest run beside the one before.
      select.selectedIndex = at < 2 ? 1 - at : 0;
    });
    const cell = (kind, text, label = "", tone = "") => {
      const made = document.createElement(kind);
      made.textContent = text;
      if (kind === "th") {
        made.scope = label === "" ? "col" : "row";
      } else if (label !== "") {
        made.dataset.label = label;
      }
      if (tone !== "") {
        made.className = tone;
        made.replaceChildren(Object.assign(document.createElement("span"), { className: "tone", textContent: text }));
      }
      return made;
    };
    const row = (...cells) => {
      const made = document.createElement("tr");
      made.append(...cells);
      return made;
    };
    const linked = (text, address) => {
      const made = cell("th", "", "row");
      made.append(Object.assign(document.createElement("a"), { href: address, textContent: text }));
      return made;
    };
    const compare = () => {
      const chosenRuns = selects.map((select) => places.get(select.value)).filter((place) => place !== undefined);
      const runs = chosenRuns.map((place) => data.runs[place]);
      const figures = element("figures");
      const heads = (first) => row(cell("th", first), ...runs.map((run) => cell("th", run.label)));
      figures.replaceChildren(heads("figure"),
        row(cell("th", "result", "row"), ...runs.map((run) => cell("td", run.conclusion, run.label, run.conclusion))),
        row(cell("th", "scenarios passed", "row"), ...runs.map((run) => cell("td", run.passed, run.label))),
        row(cell("th", "spent (USD)", "row"), ...runs.map((run) => cell("td", run.spent, run.label))));
      for (const metric of [...new Set(runs.flatMap((run) => Object.keys(run.means)))].sort()) {
        figures.append(row(cell("th", metric, "row"), ...runs.map((run) => cell("td", run.means[metric] ?? "", run.label))));
      }
      const differing = element("differing");
      const lines = data.scenarios.map((scenario, at) => [scenario, chosenRuns.map((place) => data.outcomes[place][at])])
        .filter(([, marks]) => new Set(marks).size > 1);
      differing.replaceChildren(heads("scenario"), ...lines.map(([scenario, marks]) => row(linked(scenario[0], `scenario/${scenario[1]}.html`),
        ...marks.map((mark, at) => cell("td", names[mark], runs[at].label, names[mark])))));
      differing.hidden = lines.length === 0;
      element("many").textContent = `${lines.length} of ${data.scenarios.length} scenarios ended differently.`;
    };
    const wanted = location.hash.slice(1).split(",").filter((id) => places.has(id));
    wanted.slice(0, selects.length).forEach((id, at) => {
      selects[at].value = id;
    });
    choice.hidden = false;
    choice.addEventListener("change", () => {
      history.replaceState(null, "", `#${selects.map((select) => select.value).filter(Boolean).join(",")}`);
      compare();
    });
    compare();
  }
})();
