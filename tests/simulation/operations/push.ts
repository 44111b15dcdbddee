import { createECDH } from "node:crypto";
import type { Account } from "../model/accounts";
import { Device } from "../model/push";
import { hasSession, type Operation, onAccount, type Step, sawSession } from "./operation";

const curve = createECDH("prime256v1");
curve.setPrivateKey(Buffer.alloc(32, 7));
const KEYS = { p256dh: curve.getPublicKey("base64url"), auth: Buffer.alloc(16, 9).toString("base64url") };

const activeDevices = (account: { devices: Device[] }) => account.devices.filter(({ works }) => works.canBe(true));

export async function seeDevices(step: Step, account: Account): Promise<void> {
  const session = account.liveSessions.find(({ cookie }) => cookie === null);
  if (!session) return;
  const label = `list the devices of ${account.name}`;
  const answer = await step.send(label, "GET", "/api/push/devices", { token: session.token });
  if (answer.outcome === "unknown" || !sawSession(session, answer) || answer.outcome !== "done") return;
  const { devices } = answer.body as { devices: unknown[] };
  const sure = account.devices.filter(({ works }) => works.is(true)).length;
  if (devices.length < sure) account.devices.find(({ works }) => works.is(true))?.saw(false);
  if (devices.length > activeDevices(account).length) account.devices.find(({ works }) => works.is(false))?.saw(true);
}

export const pushOperations: Operation[] = [
  onAccount("register a browser", 1.5, hasSession, async (step, account) => {
    const session = step.random.pick(account.liveSessions);
    if (session.cookie) return;
    const endpoint = `https://updates.push.services.mozilla.com/wpush/v2/${step.random.uuid()}`;
    const device = new Device(account, session, endpoint);
    device.mayEnd();
    account.devices.push(device);
    const json = { platform: "web", subscription: { endpoint, keys: KEYS }, device: { name: "Browser" } };
    const label = `register a browser of ${account.name}`;
    const answer = await step.send(label, "POST", "/api/push/register", { token: session.token, json });
    if (answer.outcome === "unknown") return;
    if (sawSession(session, answer) && answer.outcome === "done") device.works.set(true);
    else device.end();
  }),
  onAccount(
    "notify",
    1.5,
    (account) => account.exists.is(true) && account.email.possible.length === 1 && activeDevices(account).length > 0,
    async (step, account) => {
      for (const device of activeDevices(account)) device.extra += 1;
      const json = {
        kind: "custom",
        to: { account: account.email.possible[0] },
        title: "Hello",
        body: step.random.uuid(),
      };
      const audit = step.model.willAudit("push_sent");
      const answer = await step.send(`notify ${account.name}`, "POST", "/api/admin/push/messages", {
        operator: "sim",
        json,
      });
      if (answer.outcome === "refused") audit.refused();
      if (answer.outcome !== "done") return;
      audit.done();
      for (const device of account.devices) if (device.works.is(true)) device.due += 1;
    },
  ),
  onAccount("list devices", 1, (account) => hasSession(account) && account.devices.length > 0, seeDevices),
];
