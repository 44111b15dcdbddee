import { CommandError } from "../../../lib/errors";
import { isUuid } from "../../../lib/platform/db/ids";
import { WebhookEventType } from "../../../lib/webhooks/events";
import { ChangedEndpoint, DeliveriesQuery, NewEndpoint, Replay } from "../../../lib/webhooks/schema";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup, HomeportCommand } from "../command";
import { checked, oneOf, parseLimit, parseTime, repeatable } from "../options";
import { confirm, isInteractive } from "../terminal";
import type { ResultOf } from "../transport/operations";

const OPTION_OF = { url: "URL", eventTypes: "--type", description: "--description" };

type Fields = { type?: string[]; description?: string };

/** The parameter that names an endpoint. @throws UsageError */
function endpoint(id: string): { endpointId: string } {
  if (!isUuid(id)) throw new UsageError("ENDPOINT: Must be the id of an endpoint, as `list` prints it.");
  return { endpointId: id };
}

async function list({ api, output }: CommandContext): Promise<void> {
  const { endpoints } = await api.call("listWebhookEndpoints");
  output.table(endpoints, "No endpoints found.", {
    id: "id",
    status: "status",
    "failing since": "failingSince",
    types: ({ eventTypes }) => eventTypes.join(","),
    url: "url",
    description: "description",
  });
}

async function create({ api, output }: CommandContext, url: string, { type = [], description }: Fields): Promise<void> {
  const body = checked(NewEndpoint, { url, eventTypes: type, description }, OPTION_OF);
  printSecret(output, "Created", await api.call("createWebhookEndpoint", { body }));
}

async function rotateSecret({ api, output }: CommandContext, id: string): Promise<void> {
  printSecret(output, "Rotated the secret of", await api.call("rotateWebhookSecret", { params: endpoint(id) }));
}

function printSecret(output: CommandContext["output"], verb: string, created: ResultOf<"createWebhookEndpoint">): void {
  output.result(created, [created.secret]);
  if (!output.isJson) output.note(`${verb} ${created.id}. Store the secret now: it is not shown again.`);
}

/** The input of `edit`. @throws UsageError */
function edited(id: string, { url, type, description }: Fields & { url?: string }) {
  const params = endpoint(id);
  const input = { url, eventTypes: type, description };
  if (Object.values(input).every((value) => value === undefined)) {
    throw new UsageError("edit takes --url, --type or --description.");
  }
  return { params, body: checked(ChangedEndpoint, input, { ...OPTION_OF, url: "--url" }) };
}

async function remove({ api, output }: CommandContext, id: string, { yes = false }: { yes?: boolean }): Promise<void> {
  const params = endpoint(id);
  if (!yes && !isInteractive()) throw new UsageError("delete: --yes is missing.");
  const { url } = await api.call("getWebhookEndpoint", { params });
  if (!yes && !(await confirm(`Delete the endpoint ${url} and its deliveries?`)))
    throw new CommandError("canceled", "Nothing was changed.");
  await api.call("deleteWebhookEndpoint", { params });
  output.result({ deleted: id }, [`${id} is deleted.`]);
}

const DELIVERY_STATES = DeliveriesQuery.shape.state.unwrap().options;
/** The deliveries that `show` prints with an endpoint. */
const SHOWN_DELIVERIES = 20;

async function deliveries(
  { api, output }: CommandContext,
  id: string,
  { state, limit }: { state?: string; limit: string },
): Promise<void> {
  const params = endpoint(id);
  const query = checked(DeliveriesQuery, { state }, { state: "--state" });
  const found = await api.list("listWebhookDeliveries", "deliveries", { params, query }, parseLimit(limit));
  output.table(found, "No deliveries found.", {
    event: "eventId",
    occurred: "occurredAt",
    type: "type",
    state: "state",
    attempts: "attempts",
    "next attempt": "nextAttemptAt",
    status: "responseStatus",
    error: "error",
  });
}

async function show({ api, output }: CommandContext, id: string, eventId: string | undefined): Promise<void> {
  const params = endpoint(id);
  const print = (document: object) => output.result(document, [JSON.stringify(document, null, 2)]);
  if (eventId !== undefined) return print(await api.call("getWebhookDelivery", { params: delivery(id, eventId) }));
  const shown = await api.call("getWebhookEndpoint", { params });
  print({ ...shown, deliveries: await api.list("listWebhookDeliveries", "deliveries", { params }, SHOWN_DELIVERIES) });
}

async function retry({ api, output }: CommandContext, id: string, eventIds: string[]): Promise<void> {
  const all = eventIds.map((eventId) => delivery(id, eventId));
  for (const params of all) await api.call("retryWebhookDelivery", { params });
  const lines = eventIds.map((eventId) => `Requeued ${eventId}.`);
  output.result({ retried: eventIds }, lines);
}

function delivery(id: string, eventId: string) {
  const params = { ...endpoint(id), eventId };
  if (!isUuid(eventId)) throw new UsageError("EVENT: Must be the id of an event, as `deliveries` prints it.");
  return params;
}

/** `homeport webhooks`. An endpoint and an event are named by their ids. */
export const defineWebhooks: DefineCommandGroup = (webhooks) => {
  webhooks.command("list").description("list the endpoints, newest first").run(list);
  defineChanges(webhooks);
  webhooks
    .command("test <endpoint>")
    .description("send an endpoint an event of type webhook.test")
    .calls("sendWebhookTestEvent", {
      input: (id: string) => ({ params: endpoint(id) }),
      prints: ({ eventId }) => `Queued the test event ${eventId}.`,
    });
  webhooks
    .command("deliveries <endpoint>")
    .description("list the deliveries to an endpoint, newest event first")
    .addOption(oneOf("--state <state>", "pending, delivered or failed", DELIVERY_STATES))
    .option("--limit <count>", "maximum number", "50")
    .run(deliveries);
  webhooks
    .command("show <endpoint> [event]")
    .description("print an endpoint with its newest deliveries, or one delivery with payload and response, as JSON")
    .run(show);
  webhooks.command("retry <endpoint> <event...>").description("deliver events again immediately").run(retry);
  webhooks
    .command("replay <endpoint>")
    .description("deliver events again that failed or happened while the endpoint was disabled")
    .requiredOption("--since <when>", "events since 12h, 2d or a time such as 2026-11-22T09:00:00Z")
    .option("--all", "also events that were delivered")
    .calls("replayWebhookDeliveries", {
      input: (id: string, { since, all }: { since: string; all?: boolean }) => ({
        params: endpoint(id),
        body: checked(Replay, { since: parseTime(since, "ago"), all }, { since: "--since" }),
      }),
      prints: ({ queued }) => `Requeued ${queued} ${queued === 1 ? "event" : "events"}.`,
    });
};

function defineChanges(webhooks: HomeportCommand): void {
  const types = () =>
    repeatable("--type <type>", "an event type to deliver; may be repeated", WebhookEventType.options);
  webhooks
    .command("create <url>")
    .description("create an endpoint and print its secret once")
    .addOption(types())
    .option("--description <text>", "what it is for")
    .run(create);
  webhooks
    .command("edit <endpoint>")
    .description("change an endpoint")
    .option("--url <url>", "the URL to which events are delivered")
    .addOption(types())
    .option("--description <text>", "what it is for")
    .calls("changeWebhookEndpoint", { input: edited, prints: (_, id) => `${id} is changed.` });
  webhooks
    .command("rotate-secret <endpoint>")
    .description("replace the secret and print the new one. For a day, deliveries are signed with both")
    .run(rotateSecret);
  const enabled = (command: string, description: string, enabled: boolean) =>
    webhooks
      .command(command)
      .description(description)
      .calls("changeWebhookEndpoint", {
        input: (id: string) => ({ params: endpoint(id), body: { enabled } }),
        prints: (_, id) => `${id} is ${enabled ? "enabled" : "disabled"}.`,
      });
  enabled("enable <endpoint>", "deliver events to an endpoint again", true);
  enabled("disable <endpoint>", "stop deliveries to an endpoint", false);
  webhooks
    .command("delete <endpoint>")
    .description("delete an endpoint with its deliveries")
    .option("--yes", "do not ask")
    .run(remove);
}
