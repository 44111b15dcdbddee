import { createHash } from "node:crypto";
import type { Account, Code, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import type { Answer } from "../world";
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

/** Each with one member that is not of the request that was allowed. */
const WRONG_PROOFS = [{ code_verifier: `${VERIFIER}x` }, { redirect_uri: "com.example.sim:/other" }];
/** How often a code is exchanged while it is new. */
const AT_ONCE = 0.6;
/** How long a used code is known to have been one, at least. */
const USED_CODE_MS = 20 * 3_600_000;

/** Whoever presents an authorization code again ends the session that it was exchanged for. */
export function sawReplay(
  step: Step,
  { account, text, expiresAtMs }: Code,
  answers: readonly Answer[],
  { couldWork, sessions }: { couldWork: boolean; sessions: readonly Session[] },
): void {
  const isRefused = answers.every(({ body }) => body?.error === "invalid_grant");
  const isSure = !couldWork && isRefused && step.nowMs < expiresAtMs + USED_CODE_MS && !step.isDisturbed();
  for (const session of sessions)
    if (session.codeText === text) isSure ? account.endSession(session) : account.mayEndSession(session);
}

/** Exchanges a code once, or twice at the same time. A code works once, and not after what has allowed it has ended. */
async function exchange(step: Step, code: Code): Promise<void> {
  const { random } = step;
  const { account, kind } = code;
  const couldWork = code.works.canBe(true);
  const hasProof = kind === "device code" || !couldWork || random.chance(0.7);
  const proof = hasProof ? null : random.pick(WRONG_PROOFS);
  const form = { ...exchangeForm(kind, code.text), ...proof };
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
    if (proof) throw new Violation("authorization code works without its proof", account.name);
    code.end();
    const session = account.addSession(first.body.access_token);
    session.codeText = code.text;
    // Whoever presents an authorization code again ends what it was exchanged for.
    if (answers.length > 1 && kind === "authorization code") account.mayEndSession(session);
  } else if (kind === "authorization code") {
    sawReplay(step, code, answers, { couldWork, sessions });
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
    const issued = account.addCode("authorization code", code, session.token || (session.cookie ?? ""), true);
    issued.expiresAtMs = step.nowMs + 60_000;
    if (step.random.chance(AT_ONCE)) await exchange(step, issued);
  }),
  onAccount(
    "exchange an authorization code",
    3,
    (account) => account.codesOf("authorization code").length > 0,
    (step, account) => exchange(step, step.random.pick(account.codesOf("authorization code").slice(-3))),
  ),
  onAccount("allow a device", 1.5, hasBrowser, async (step, account) => {
    const session = step.random.pick(browsers(account));
    const label = `a device asks ${account.name}`;
    const started = await step.send(label, "POST", "/api/auth/oauth/device", { form: { client_id: "cli" } });
    if (started.outcome !== "done") return;
    const startedAtMs = step.nowMs;
    const decision = step.random.chance(0.2) ? "deny" : "allow";
    const decide = (label: string, { cookie }: Session, decided: string) =>
      step.send(label, "POST", "/forms/device", {
        form: { user_code: started.body.user_code, decision: decided },
        cookie: cookie ?? "",
        headers: { origin: step.world.origin },
      });
    const answer = await decide(`${decision} a device of ${account.name}`, session, decision);
    const isDecided = /^\/device\?done=/.test(answer.headers.get("location") ?? "");
    const isAllowed = answer.headers.get("location") === "/device?done=allowed";
    if (isAllowed) session.saw(true);
    const code = account.addCode(
      "device code",
      started.body.device_code,
      session.token || (session.cookie ?? ""),
      isAllowed,
    );
    code.expiresAtMs = startedAtMs + 600_000;
    if (decision === "deny") code.end();
    if (step.random.chance(AT_ONCE)) await exchange(step, code);
    const others = step.model.accounts.filter((other) => other !== account && hasBrowser(other)).flatMap(browsers);
    const stranger = isDecided && step.random.chance(0.2) ? step.random.pick(others) : undefined;
    if (!stranger) return;
    const again = await decide(`allow a device of ${account.name} as ${stranger.account.name}`, stranger, "allow");
    if (again.headers.get("location") === "/device?done=allowed")
      throw new Violation("link works for another", account.name);
  }),
  onAccount(
    "exchange a device code",
    2.5,
    (account) => account.codesOf("device code").length > 0,
    (step, account) => exchange(step, step.random.pick(account.codesOf("device code").slice(-3))),
  ),
];
