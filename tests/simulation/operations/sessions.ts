import type { Account, Session } from "../model/accounts";
import { Violation } from "../model/fact";
import { prove } from "./factors";
import { isIdentified, isThere, type Operation, onAccount, onSession, type Step, sawSession } from "./operation";
import { change } from "./operators";

const browsers = ({ liveSessions }: Account) => liveSessions.filter(({ cookie }) => cookie !== null);
const named = ({ sessions }: Account) => sessions.filter(({ id }) => id !== null).slice(-6);

/** An operation of a browser that is signed in. */
export function onBrowser(
  name: string,
  weight: number,
  run: (step: Step, session: Session) => Promise<void>,
): Operation {
  const suits = (account: Account) => isThere(account) && browsers(account).length > 0;
  return onAccount(name, weight, suits, (step, account) => run(step, step.random.pick(browsers(account))));
}

/** Nobody ends a session of another account. */
async function endAnothers(step: Step, { account, cookie }: Session, target: Session | undefined): Promise<void> {
  if (!target?.id || target.account === account) return;
  const label = `end a session of ${target.account.name} as ${account.name}`;
  const next = "/account?done=session_ended";
  const answer = await step.submit(label, "/forms/account/session", { id: target.id }, next, cookie ?? "");
  if (answer.outcome === "done") throw new Violation("account ends a session of another", account.name);
}

export const sessionOperations: Operation[] = [
  onBrowser("end a session", 1, async (step, session) => {
    const { account, cookie } = session;
    const { random, model } = step;
    if (random.chance(0.2)) return endAnothers(step, session, random.pick(model.accounts.flatMap(named)));
    const target = random.pick(named(account));
    if (!target?.id) return;
    const { saw } = await prove(step, session, { hasBody: false });
    const restore = step.remember(account.access);
    account.mayEndSession(target);
    const next = "/account?done=session_ended";
    const label = `end session ${account.sessions.indexOf(target)} of ${account.name}`;
    const answer = await step.submit(label, "/forms/account/session", { id: target.id }, next, cookie ?? "");
    saw(answer);
    restore(answer);
    if (answer.outcome !== "done") return;
    session.saw(true);
    account.endSession(target);
  }),
  onBrowser("end the other sessions", 0.7, async (step, session) => {
    const { account, cookie } = session;
    const { saw } = await prove(step, session, { hasBody: false });
    const restore = step.remember(account.access);
    account.mayEndOthers(session);
    const next = "/account?done=sessions_ended";
    const label = `end the other sessions of ${account.name}`;
    const answer = await step.submit(label, "/forms/account/other-sessions", {}, next, cookie ?? "");
    saw(answer);
    restore(answer);
    if (answer.outcome !== "done") return;
    session.saw(true);
    account.endOthers(session);
  }),
  onBrowser("sign out a browser", 1, async (step, session) => {
    const { account, cookie } = session;
    const restore = step.remember(account.access);
    account.mayEndSession(session);
    const next = "/sign-in?done=signed_out";
    const answer = await step.submit(
      `sign out a browser of ${account.name}`,
      "/forms/sign-out",
      {},
      next,
      cookie ?? "",
    );
    restore(answer);
    if (answer.outcome === "done") account.endSession(session);
  }),
  onSession(
    "ask for accounts",
    0.5,
    () => true,
    async (step, session) => {
      const { account, token } = session;
      const answer = await step.send(`ask for accounts as ${account.name}`, "GET", "/api/admin/accounts?limit=1", {
        token,
      });
      if (answer.outcome === "done") throw new Violation("user acts as an operator", account.name);
      if (answer.outcome === "refused") sawSession(session, answer);
    },
  ),
  onAccount(
    "end a session as an operator",
    0.6,
    (account) => isIdentified(account) && named(account).length > 0,
    async (step, account) => {
      const target = step.random.pick(named(account));
      const restore = step.remember(account.access);
      const wasLive = target.works.is(true);
      account.mayEndSession(target);
      const path = `/api/admin/accounts/${account.id}/sessions/${target.id}`;
      const label = `end a session of ${account.name} as an operator`;
      const answer = await change(step, ["signed_out", `account=${account.id}`], label, ["DELETE", path]);
      restore(answer);
      if (answer.outcome === "done") account.endSession(target);
      else if (answer.outcome === "refused" && wasLive) target.saw(false);
    },
  ),
];
