import { WebhookEventType } from "../../../../lib/webhooks/events";
import { Replay } from "../../../../lib/webhooks/schema";
import type { DefineCommandGroup, HomeportCommand } from "../../command";
import { checked, oneOf, parseTime, repeatable } from "../../options";
import { DELIVERY_STATES, deliveries, retry, show } from "./deliveries";
import { create, edited, endpoint, list, remove, rotateSecret } from "./endpoints";

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
