import type { Account, Code, Session } from "../model/accounts";
import { type Usable, Violation } from "../model/fact";
import type { Answer, Sent } from "../world";
import { seeSession } from "./accounts";
import { exchangeForm } from "./codes";
import { hasSession, newPassword, type Operation, onAccount, type Step } from "./operation";
import { newBrowser } from "./push";

/** Gives access. What it has given is known to the model when the returned function is called. */
type Start = (step: Step, account: Account) => Promise<(() => Usable) | null> | null;

const starts: Record<"sign-in" | "code" | "device", Start> = {
  "sign-in": (step, account) => {
    const [email] = account.email.possible;
    const [password] = account.password.possible;
    const json = { email, password, transport: "token" };
    return step
      .send(`log in ${account.name} meanwhile`, "POST", "/api/auth/login", { json })
      .then(({ outcome, body }) => (outcome === "done" ? () => account.addSession(body.token) : null));
  },
  code: (step, account) => {
    const code = account.codes.find(
      ({ kind, works }) => /^(authorization|device) code$/.test(kind) && works.canBe(true),
    );
    if (!code) return null;
    code.mayEnd();
    const form = exchangeForm(code.kind, code.text);
    return step
      .send(`exchange a ${code.kind} of ${account.name} meanwhile`, "POST", "/api/auth/oauth/token", { form })
      .then(({ outcome, body }) => {
        if (outcome !== "done") return null;
        code.end();
        return () => Object.assign(account.addSession(body.access_token), { codeText: code.text });
      });
  },
  device: (step, account) => {
    const session = account.liveSessions.find(({ cookie }) => cookie === null);
    if (!session) return null;
    const { device, json } = newBrowser(step, account, session);
    const sent = { token: session.token, json };
    return step
      .send(`register a browser of ${account.name} meanwhile`, "POST", "/api/push/register", sent)
      .then(({ outcome }) => (outcome === "done" ? () => device : null));
  },
};

/** Ends access. */
type End = {
  /** What its event is, if it is an operator's. */
  type?: string;
  request: (step: Step, account: Account) => [method: string, path: string, sent: Sent] | null;
  /** `links`: the reset links that had arrived before. */
  done: (account: Account, answer: Answer, sent: Sent, links: readonly Code[]) => void;
  /** What nobody has afterwards, whether it was given before or is asked for after it. */
  endsForSure: (keyof typeof starts)[];
};

const byOperator = (rest: string): End["request"] => {
  return (_, { id }) => ["POST", `/api/admin/accounts/${id}/${rest}`, { operator: "sim", json: {} }];
};

const ends: Record<string, End> = {
  disable: {
    type: "account_disabled",
    request: byOperator("disable"),
    done: (account) => {
      account.isDisabled.set(true);
      account.endAccess();
    },
    endsForSure: ["sign-in", "code", "device"],
  },
  "end all sessions of": {
    type: "signed_out",
    request: byOperator("revoke-sessions"),
    done: (account) => account.endAccess(),
    endsForSure: ["code", "device"],
  },
  "change the password of": {
    request: (step, account) => {
      const session = account.liveSessions.find(({ cookie }) => cookie === null);
      if (!session) return null;
      const [password] = account.password.possible;
      const newOne = newPassword(step.random);
      account.password.maySet(newOne);
      session.authenticatedAtMs = Number.POSITIVE_INFINITY;
      const json = { password, newPassword: newOne };
      return ["POST", "/api/auth/password/change", { token: session.token, json }];
    },
    done: (account, { body }, { token, json }, links) => {
      account.password.set((json as { newPassword: string }).newPassword);
      account.endAccess();
      for (const link of links) link.end();
      const session = account.sessions.find((one) => one.token === token) as Session;
      const successor = account.succeed(session, body.token);
      for (const device of account.devices) {
        if (device.session !== session) continue;
        device.session = successor;
        device.works.restore([true, false]);
      }
    },
    endsForSure: ["sign-in", "code"],
  },
};

/** Something gives access, and something ends all access, at the same moment: in any order none is left. */
async function race(step: Step, account: Account): Promise<void> {
  const { model, random } = step;
  const kind = random.pick(Object.keys(starts) as (keyof typeof starts)[]);
  const [name, end] = random.pick(Object.entries(ends));
  const starting = starts[kind](step, account);
  if (!starting) return;
  const links = account.codesOf("reset link");
  const request = end.request(step, account);
  if (end.type === "account_disabled") account.isDisabled.maySet(true);
  account.mayEndAccess();
  if (!request) return void (await starting);
  model.willAudit("signed_out"); // of its sessions, if there are any
  const audit = end.type ? model.willAudit(end.type) : null;
  const record = end.type ? null : step.willRecord(account, "password_changed");
  const keep = account.sessions.find(({ token }) => token !== "" && token === request[2].token)?.mayBeSucceeded();
  const [given, answer] = await Promise.all([starting, step.send(`${name} ${account.name}`, ...request)]);
  const { outcome } = answer;
  record?.([answer]);
  if (outcome === "refused") keep?.();
  if (outcome === "refused" && end.type) throw new Violation("account is lost", account.name);
  if (outcome === "done" && end.type === "account_disabled") audit?.done();
  if (outcome === "done") end.done(account, answer, request[2], links);
  else if (outcome === "refused")
    account.password.rule((request[2].json as { newPassword: string }).newPassword, false);
  const one = given?.();
  if (outcome === "done" && end.endsForSure.includes(kind)) one?.end();
  else one?.mayEnd();
  if (one && kind !== "device") await seeSession(step, one as Session);
}

/** Its password is known, and is enough. */
const isSure = ({ exists, isDisabled, id, email, password, app, passkeys }: Account) =>
  exists.is(true) &&
  isDisabled.is(false) &&
  id !== null &&
  email.possible.length === 1 &&
  password.possible.length === 1 &&
  !password.canBe(null) &&
  app.is(null) &&
  passkeys.length === 0;

export const raceOperations: Operation[] = [
  onAccount("give and end access at once", 4, (account) => isSure(account) && hasSession(account), race),
];
