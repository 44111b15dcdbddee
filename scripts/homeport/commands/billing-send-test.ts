import { TestEvent } from "../../../lib/subscriptions/test-events/schema";
import { TestEventType } from "../../../lib/subscriptions/test-events/test-change";
import { UsageError } from "../../command-line";
import type { CommandContext, HomeportCommand } from "../command";
import { checked, oneOf } from "../options";
import { printable } from "../output";
import type { ResultOf } from "../transport/operations";
import { accountIdOf } from "./find-account";

type Options = { account?: string; provider?: string; product?: string; list?: boolean; reason?: string };

const PROVIDERS = TestEvent.shape.provider.unwrap().options;
const NIL_ID = "00000000-0000-0000-0000-000000000000";

export function defineSendTest(billing: HomeportCommand): void {
  billing
    .command("send-test [type]")
    .description("send a signed test event of a provider to the service, about an account's test subscription")
    .option("--account <account>", "the account, by its id or email: a sandbox tester for an hour")
    .addOption(oneOf("--provider <provider>", "the sender", PROVIDERS))
    .option("--product <id>", "a product of BILLING_PRODUCTS, or one that was bought")
    .option("--list", "list the types, and what each does")
    .option("--reason <text>", "the reason, for the audit trail")
    .run(sendTest);
}

async function sendTest(context: CommandContext, given: string | undefined, options: Options): Promise<void> {
  if (options.list) return list(context, options);
  if (given === undefined)
    throw new UsageError(`send-test takes a type, or --list: ${TestEventType.options.join(", ")}`);
  if (options.account === undefined) throw new UsageError("send-test takes --account EMAIL.");
  const { provider, product: productId, reason } = options;
  const type = given.toUpperCase().replaceAll("-", "_");
  const names = { type: "type", provider: "--provider", productId: "--product", reason: "--reason" };
  const body = checked(TestEvent, { type, provider, productId, reason, accountId: NIL_ID }, names);
  const { api, output } = context;
  const accountId = await accountIdOf(api, options.account);
  const sent = await api.call("sendTestEvent", { body: { ...body, accountId } });
  const deliveries = sent.events.map(({ event, status, eventId }) => `${event}\t${status}\t${eventId}`);
  const lines = [
    ...deliveries,
    `before\t${describe(sent.before)}`,
    `after\t${describe(sent.after)}`,
    ...(sent.status === sent.after.status ? [] : [`test subscription\t${sent.status}`]),
  ];
  output.result(sent, lines.map(printableCells));
  output.note(`Sandbox purchases count for the account until ${sent.sandboxUntil}.`);
  if (sent.events.some(({ status }) => status === "failed")) process.exitCode = 1;
}

const printableCells = (line: string) => line.split("\t").map(printable).join("\t");

function describe({ status, isActive, accessEndsAt, entitlementIds }: ResultOf<"sendTestEvent">["before"]): string {
  if (!isActive) return `${status}, no access`;
  const what = entitlementIds.length > 0 ? `access to ${entitlementIds.join(", ")}` : "access to no entitlement";
  return `${status}, ${what}${accessEndsAt === null ? "" : ` until ${accessEndsAt}`}`;
}

async function list({ api, output }: CommandContext, { provider }: Options): Promise<void> {
  const query = checked(TestEvent.pick({ provider: true }), { provider }, { provider: "--provider" });
  const { providers } = await api.call("listTestEvents", {});
  const shown = providers.filter((one) => query.provider === undefined || one.provider === query.provider);
  for (const { unavailable } of shown) if (unavailable !== null) output.note(unavailable);
  const types = shown
    .filter(({ unavailable }) => unavailable === null || query.provider !== undefined)
    .flatMap(({ provider: sender, types: own }) => own.map((one) => ({ provider: sender, ...one })));
  output.table(types, null, { provider: "provider", type: "type", event: "event", status: "status", effect: "effect" });
  for (const { provider: sender, unavailable, products } of shown) {
    if (unavailable !== null) continue;
    const known = products.map(({ productId, entitlementIds }) => `${productId} (${entitlementIds.join(", ")})`);
    output.note(printable(`Products of ${sender}: ${known.join(", ")}`));
  }
}
