import { type Account, type Model, type Session, Violation } from "./model";
import type { Random } from "./random";
import type { Answer, World } from "./world";

/** What an operation needs: one step's random numbers are its own, so that it does the same when others are left out. */
export type Step = { world: World; model: Model; random: Random; note: (text: string) => void; faults: () => number };

type Operation = {
  name: string;
  weight: number;
  /** Returns null if nothing can be done now. What it sends is known to the model before. */
  start: (step: Step) => Promise<void> | null;
};

type Outcome = "done" | "refused" | "unknown";

/** What an answer says. A failure is expected only if the simulation has caused one. */
function outcomeOf({ status, body }: Answer, { faults }: Step): Outcome {
  if (status === 500) throw new Violation("internal error", `${status} ${JSON.stringify(body).slice(0, 300)}`);
  if (status === 503) {
    if (faults() === 0) throw new Violation("unavailable without a fault", JSON.stringify(body).slice(0, 300));
    return "unknown";
  }
  return status < 400 ? "done" : "refused";
}

const free = (accounts: Account[]) => accounts.filter(({ isBusy }) => !isBusy);

/** Runs an operation on an account that no other is about. */
function onAccount(
  name: string,
  weight: number,
  suits: (account: Account) => boolean,
  run: (step: Step, account: Account) => Promise<void>,
): Operation {
  return {
    name,
    weight,
    start: (step) => {
      const suitable = free(step.model.accounts).filter(suits);
      if (suitable.length === 0) return null;
      const account = step.random.pick(suitable);
      account.isBusy = true;
      return run(step, account).finally(() => {
        account.isBusy = false;
      });
    },
  };
}

const isThere = ({ exists }: Account) => exists.canBe(true);
const hasSession = (account: Account) => isThere(account) && account.sessions.some(({ isLive }) => isLive.canBe(true));

const passwordFrom = (random: Random) => `correct horse ${random.below(1e9).toString(36)} staple`;

async function logIn(step: Step, account: Account, password: string): Promise<void> {
  const { world, model, note } = step;
  const answer = await world.send("log in", "POST", "/api/auth/login", {
    json: { email: account.email, password, transport: "token" },
  });
  note(`log in ${account.name}: ${answer.status}`);
  const outcome = outcomeOf(answer, step);
  if (outcome === "unknown") return;
  model.sawSignIn(account, password, outcome === "done");
  if (outcome === "done") account.addSession(answer.body.token);
}

async function seeSession(step: Step, session: Session): Promise<boolean | null> {
  const answer = await step.world.send("use session", "GET", "/api/auth/identities", { token: session.token });
  step.note(`use session ${session.account.sessions.indexOf(session)} of ${session.account.name}: ${answer.status}`);
  if (outcomeOf(answer, step) === "unknown") return null;
  step.model.sawSession(session, answer.status === 200);
  return answer.status === 200;
}

export const operations: Operation[] = [
  {
    name: "register",
    weight: 3,
    start: async (step) => {
      const { world, model, random, note } = step;
      const password = passwordFrom(random);
      const account = model.addAccount(password);
      account.isBusy = true;
      const answer = await world.send("register", "POST", "/api/auth/register", {
        json: { email: account.email, password, transport: "token" },
      });
      note(`register ${account.name}: ${answer.status}`);
      account.isBusy = false;
      const outcome = outcomeOf(answer, step);
      if (outcome === "refused") throw new Violation("registration is refused", JSON.stringify(answer.body));
      if (outcome === "unknown") return;
      account.exists.set(true);
      account.id = answer.body.user.id;
      account.addSession(answer.body.token);
    },
  },

  onAccount("log in", 4, isThere, (step, account) => logIn(step, account, step.random.pick(account.password.possible))),

  onAccount("log in with a wrong password", 1, isThere, (step, account) => logIn(step, account, "wrong horse battery")),

  onAccount(
    "use session",
    6,
    ({ sessions }) => sessions.length > 0,
    async (step, account) => {
      await seeSession(step, step.random.pick(account.sessions));
    },
  ),

  onAccount("sign out", 2, hasSession, async (step, account) => {
    const { world, random, note } = step;
    const session = random.pick(account.sessions.filter(({ isLive }) => isLive.canBe(true)));
    session.isLive.maySet(false);
    const answer = await world.send("sign out", "POST", "/api/auth/oauth/revoke", {
      form: { token: session.token, client_id: "cli" },
    });
    note(`sign out session ${account.sessions.indexOf(session)} of ${account.name}: ${answer.status}`);
    const outcome = outcomeOf(answer, step);
    if (outcome === "done") session.isLive.set(false);
    else if (outcome === "refused") throw new Violation("sign-out is refused", JSON.stringify(answer.body));
  }),

  onAccount("change password", 2, hasSession, async (step, account) => {
    const { world, model, random, note } = step;
    const session = random.pick(account.sessions.filter(({ isLive }) => isLive.canBe(true)));
    const password = random.pick(account.password.possible);
    const newPassword = passwordFrom(random);
    account.password.maySet(newPassword);
    account.mayEndSessions();
    const answer = await world.send("change password", "POST", "/api/auth/password/change", {
      token: session.token,
      json: { password, newPassword },
    });
    note(`change password of ${account.name}: ${answer.status}`);
    const outcome = outcomeOf(answer, step);
    if (outcome === "done") {
      model.sawPassword(account, password);
      account.password.set(newPassword);
      account.endSessions();
      account.addSession(answer.body.token);
    } else if (outcome === "refused") {
      account.password.rule(newPassword, false);
      const code = answer.body.code;
      if (code === "unauthenticated") model.sawSession(session, false);
    }
  }),

  onAccount("ask for a reset", 2, isThere, async (step, account) => {
    const answer = await step.world.send("ask for a reset", "POST", "/api/auth/reset/request", {
      json: { email: account.email },
    });
    step.note(`ask for a reset of ${account.name}: ${answer.status}`);
    if (outcomeOf(answer, step) === "refused") throw new Violation("reset is refused", JSON.stringify(answer.body));
  }),

  onAccount(
    "reset password",
    3,
    ({ resetTokens }) => resetTokens.size > 0,
    async (step, account) => {
      const { world, random, note } = step;
      const token = random.pick([...account.resetTokens.keys()]);
      const works = account.resetTokens.get(token);
      const newPassword = passwordFrom(random);
      const canWork = works?.canBe(true) && account.exists.canBe(true);
      if (canWork) {
        account.password.maySet(newPassword);
        account.mayEndSessions();
        for (const other of account.resetTokens.values()) other.maySet(false);
      }
      const answer = await world.send("reset password", "POST", "/api/auth/reset/confirm", {
        json: { token, password: newPassword },
      });
      note(`reset password of ${account.name}: ${answer.status}`);
      const outcome = outcomeOf(answer, step);
      if (outcome === "done") {
        if (!canWork) throw new Violation("used link works", `a reset of ${account.name}`);
        account.exists.set(true);
        account.password.set(newPassword);
        account.endSessions();
        for (const other of account.resetTokens.values()) other.set(false);
      } else if (outcome === "refused") account.password.rule(newPassword, false);
    },
  ),

  onAccount("delete account", 0.5, hasSession, async (step, account) => {
    const { world, model, random, note } = step;
    const session = random.pick(account.sessions.filter(({ isLive }) => isLive.canBe(true)));
    const password = random.pick(account.password.possible);
    account.exists.maySet(false);
    account.mayEndSessions();
    const answer = await world.send("delete account", "POST", "/api/auth/account/delete", {
      token: session.token,
      json: { confirm: "DELETE", password },
    });
    note(`delete ${account.name}: ${answer.status}`);
    const outcome = outcomeOf(answer, step);
    if (outcome === "done") {
      model.sawPassword(account, password);
      account.exists.set(false);
      account.endSessions();
      for (const works of account.resetTokens.values()) works.set(false);
    } else if (outcome === "refused" && answer.body.code === "unauthenticated") model.sawSession(session, false);
  }),
];

/** What the emails that have arrived contain. */
export function readEmails(world: World, model: Model, from: number): number {
  for (const { email } of world.outbox.slice(from)) {
    const account = model.accounts.find((one) => one.email === email.to);
    const [, token] = /\/reset#token=([\w-]{43})/.exec(email.text) ?? [];
    if (account && token && !account.resetTokens.has(token)) {
      // A newer link replaces the older ones.
      for (const works of account.resetTokens.values()) works.maySet(false);
      account.addResetToken(token);
    }
  }
  return world.outbox.length;
}

/** After all faults have ceased: everything that was acknowledged is there. */
export async function checkAll(step: Step): Promise<void> {
  for (const account of step.model.accounts) {
    for (const session of account.sessions) await seeSession(step, session);
    for (const password of [...account.password.possible]) await logIn(step, account, password);
    await logIn(step, account, "wrong horse battery");
  }
}
