/* Requests to the server, with the token of the address. An answer that is no success is an Error with a sentence. */
const TOKEN = new URLSearchParams(location.search).get("token") || "";
const GONE = "The studio does not answer. Every label that was shown as saved is in";

class Refusal extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

async function request(path, options = {}) {
  const headers = { "X-Laminar-Token": TOKEN, ...options.headers };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch {
    throw new Refusal(null, 0); // the server has stopped
  }
  const found = await answer.json().catch(() => ({ error: `The server answered with status ${answer.status}.` }));
  if (!answer.ok) throw new Refusal(found.error, answer.status);
  return found;
}

const send = (path, body) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
