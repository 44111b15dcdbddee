import { createHash } from "node:crypto";
import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { hasSession, type Operation, onAccount, type Step } from "./operation";

const REDIRECT_URI = "com.example.sim:/callback";
const VERIFIER = "a-verifier-of-the-simulation-that-is-long-enough-for-pkce";
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

const browsers = (account: Account): Session[] => account.liveSessions.filter(({ cookie }) => cookie !== null);
const hasBrowser = (account: Account) => hasSession(account) && browsers(account).length > 0;

/** The request that exchanges a code. */
export const exchangeForm = (kind: string, code: string): Record<string, string> =>
  kind === "device code"
    ? { grant_type: DEVICE_GRANT, client_id: "cli", device_code: code }
    : {
        grant_type: "authorization_code",
        client_id: "desktop",
        code,
        redirect_uri: REDIRECT_URI,
        code_verifier: VERIFIER,
      };

/** Exchanges a code once, or twice at the same time. A code works once, and not after what has allowed it has ended. */
async function exchange(step: Step, account: Account, kind: "authorization code" | "device code"): Promise<void> {
  const { random } = step;
  const code = random.pick(account.codesOf(kind).slice(-3));
  const form = exchangeForm(kind, code.text);
  const couldWork = code.works.canBe(true);
  const sentAtMs = step.nowMs;
  const sessions = [...account.sessions];
  code.mayEnd();
  const send = () => step.send(`exchange a ${kind} of ${account.name}`, "POST", "/api/auth/oauth/token", { form });
  const answers = await Promise.all(random.chance(0.4) ? [send(), send()] : [send()]);
  const done = answers.filter(({ outcome }) => outcome === "done");
  if (done.length > 1) throw new Violation("code works twice", `a ${kind} of ${account.name}`);
  const [first] = done;
  if (first) {
    if (!couldWork) throw new Violation(`ended ${kind} works`, account.name);
    if (sentAtMs > code.expiresAtMs) throw new Violation(`expired ${kind} works`, account.name);
    code.end();
    const session = account.addSession(first.body.access_token);
    session.codeText = code.text;
    // Whoever presents an authorization code again ends what it was exchanged for.
    if (answers.length > 1 && kind === "authorization code") account.mayEndSession(session);
  } else if (kind === "authorization code") {
    for (const session of sessions) if (session.codeText === code.text) account.mayEndSession(session);
    if (answers.every(({ body }) => body?.error === "invalid_grant")) code.end();
  }
}

export const codeOperations: Operation[] = [
  onAccount("allow an app", 2, hasBrowser, async (step, account) => {
    const session = step.random.pick(browsers(account));
    const form = {
      client_id: "desktop",
      redirect_uri: REDIRECT_URI,
      response_type: "code",
      code_challenge: CHALLENGE,
      code_challenge_method: "S256",
      state: "s",
      decision: "allow",
    };
    const answer = await step.send(`allow an app of ${account.name}`, "POST", "/forms/authorize", {
      form,
      cookie: session.cookie ?? "",
      headers: { origin: step.world.origin },
    });
    const target = `${answer.headers.get("refresh") ?? ""} ${answer.headers.get("location") ?? ""}`;
    const [, code] = /[?&]code=([\w-]+)/.exec(target) ?? [];
    if (!code) return;
    session.saw(true);
    account.addCode("authorization code", code, session.token || (session.cookie ?? ""), true).expiresAtMs =
      step.nowMs + 60_000;
  }),
  onAccount(
    "exchange an authorization code",
    3,
    (account) => account.codesOf("authorization code").length > 0,
    (step, account) => exchange(step, account, "authorization code"),
  ),
  onAccount("allow a device", 1.5, hasBrowser, async (step, account) => {
    const session = step.random.pick(browsers(account));
    const label = `a device asks ${account.name}`;
    const started = await step.send(label, "POST", "/api/auth/oauth/device", { form: { client_id: "cli" } });
    if (started.outcome !== "done") return;
    const startedAtMs = step.nowMs;
    const answer = await step.send(`allow a device of ${account.name}`, "POST", "/forms/device", {
      form: { user_code: started.body.user_code, decision: "allow" },
      cookie: session.cookie ?? "",
      headers: { origin: step.world.origin },
    });
    const isAllowed = answer.headers.get("location") === "/device?done=allowed";
    if (isAllowed) session.saw(true);
    const code = account.addCode(
      "device code",
      started.body.device_code,
      session.token || (session.cookie ?? ""),
      isAllowed,
    );
    code.expiresAtMs = startedAtMs + 600_000;
  }),
  onAccount(
    "exchange a device code",
    2.5,
    (account) => account.codesOf("device code").length > 0,
    (step, account) => exchange(step, account, "device code"),
  ),
];
