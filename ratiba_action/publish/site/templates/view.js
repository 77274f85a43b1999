"use strict";
// Of pages that `ratiba view` serves: what it tells of a run that goes on. Texts are set as texts, never as markup.
const ratiba = (() => {
  const element = (id) => document.getElementById(id);
  const status = element("run-status");
  const { up, edition } = status.dataset;
  const isLive = element("live") !== null;
  const made = (kind, text, name = "") => Object.assign(document.createElement(kind), { textContent: text, className: name });
  const toned = (text) => {
    const tone = made("span", "", ["passed", "failed", "skipped", "inconclusive"].includes(text) ? text : "incomplete");
    tone.append(made("span", text, "tone"));
    return tone;
  };

  // All windows of a browser share six connections to one server: four may be streams, so that two are left for pages
  // and lines. A window without a stream asks once a second, and a page that nobody sees gives its own back.
  const reserve = async () => {
    try {
      for (const number of [0, 1, 2, 3]) {
        const release = await new Promise((give, fail) => {
          navigator.locks.request(`ratiba-stream-${number}`, { ifAvailable: true }, (lock) => (lock === null ? give(null) : new Promise((free) => give(() => free())))).catch(fail);
        });
        if (release !== null) {
          return release;
        }
      }
    } catch {
      // No locks: an old browser, or one that is set to store nothing.
    }
    return null;
  };
  const listen = (address, position, take, lost) => {
    let source = null;
    let release = null;
    let last = position;
    let waiting = 0;
    let attempt = 0;
    const close = () => {
      attempt += 1;
      clearTimeout(waiting);
      source?.close();
      release?.();
      source = release = null;
    };
    const open = async () => {
      close();
      const own = attempt;
      const given = await reserve();
      if (own !== attempt) {
        given?.();
        return;
      }
      release = given;
      let answered = false;
      source = new EventSource(`${address}?after=${encodeURIComponent(last)}${given === null ? "&once" : ""}`);
      source.onopen = () => {
        answered = true;
      };
      source.onmessage = (message) => {
        last = message.lastEventId;
        take(JSON.parse(message.data));
      };
      source.onerror = () => {
        if (!answered || given !== null) {
          lost();
        }
        close();
        waiting = setTimeout(open, 1000);
      };
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    if (!document.hidden) {
      open();
    }
  };

  const say = (text, target, name) => {
    // Said again only if it differs: a screen reader reads it out.
    if (status.dataset.said !== text) {
      status.dataset.said = text;
      status.replaceChildren(text, ...(target === undefined ? [] : [" ", Object.assign(made("a", name), { href: target })]));
    }
    status.hidden = text === "";
  };
  const money = (run) => (run.spent_usd === null ? "no model call yet" : `USD ${run.spent_usd} of ${run.cap_usd} spent`);
  const tell = (news) => {
    const run = news.run;
    if (run !== null && run.conclusion === "" && !isLive) {
      say(`A run goes on: ${run.done} of ${run.planned} scenarios, ${money(run)}.`, `${up}live.html`, "Follow it");
    } else if (edition !== "0" && String(news.edition) !== edition && !isLive) {
      say("There is a newer run.", location.pathname, "Show it");
    } else {
      say("");
    }
  };

  const shown = new Map();
  const showConversation = (each) => {
    const details = made("details", "");
    details.open = shown.get(each.key)?.open ?? each.status !== "passed";
    const summary = made("summary", "");
    const seconds = each.seconds === null ? "" : `, ${each.seconds.toFixed(1)} s`;
    summary.append(toned(each.status), ` ${each.name} `, made("span", `${each.more}${seconds}`.replace(/^, /, ""), "soft"));
    const inside = made("div", "", "inside");
    inside.append(...each.problems.map((problem) => made("p", problem)));
    const said = each.turns.map(([user, reply]) => `customer: ${user}\nsystem:   ${reply}`).join("\n\n");
    inside.append(...(said === "" ? [] : [made("pre", said)]));
    details.append(summary, inside);
    shown.get(each.key)?.remove();
    shown.set(each.key, details);
    element("live-conversations").prepend(details);
  };
  const showRun = (news) => {
    const run = news.run;
    element("live-none").hidden = run !== null;
    element("live-run").hidden = run === null;
    if (run === null) {
      return;
    }
    if (news.whole) {
      shown.clear();
      element("live-conversations").replaceChildren();
      element("live-left-out").hidden = news.left_out === 0;
      element("live-left-out").textContent = `${news.left_out} earlier conversations are not listed here; the report has all of them.`;
    }
    element("live-conclusion").replaceChildren(toned(run.conclusion === "" ? "running" : run.conclusion));
    element("live-reason").textContent = run.reason;
    element("live-progress").max = Math.max(run.planned, 1);
    element("live-progress").value = run.done;
    element("live-done").textContent = `${run.done} of ${run.planned} scenarios`;
    element("live-money").textContent = money(run);
    element("live-about").textContent = [`began ${run.began.slice(0, 19).replace("T", " ")} UTC`, run.mode, run.answers === "" ? "" : `answers ${run.answers}`, run.commit].filter(Boolean).join(" · ");
    news.conversations.forEach(showConversation);
  };

  listen(`${up}events`, `/${edition}`, (news) => {
    tell(news);
    if (isLive) {
      showRun(news);
    }
  }, () => say("The connection is lost. Is ratiba view still running?"));
  return { element, made, listen };
})();
