import { WebhookEventType } from "../../../../lib/webhooks/events";
import type { DefineSubject, HomeportCommand } from "../../command";
import { oneOf, repeatable } from "../../options";
import { DELIVERY_STATES, deliveries, replay, retry, show, test } from "./deliveries";
import { create, disable, edit, enable, list, remove, rotateSecret } from "./endpoints";

/** `homeport webhooks`. An endpoint and an event are named by their ids. */
export const defineWebhooks: DefineSubject = (webhooks) => {
  webhooks.command("list").description("list the endpoints, newest first").run(list);
  defineChanges(webhooks);
  webhooks.command("test <endpoint>").description("send it an event of type webhook.test").run(test);
  webhooks
    .command("deliveries <endpoint>")
    .description("list the deliveries to an endpoint, newest event first")
    .addOption(oneOf("--state <state>", "pending, delivered or failed", DELIVERY_STATES))
    .option("--limit <count>", "how many", "50")
    .run(deliveries);
  webhooks
    .command("show <endpoint> [event]")
    .description("print an endpoint with its newest deliveries, or one delivery with payload and response, as JSON")
    .run(show);
  webhooks.command("retry <endpoint> <event...>").description("deliver events again, now").run(retry);
  webhooks
    .command("replay <endpoint>")
    .description("deliver again what failed, or happened while the endpoint was disabled")
    .requiredOption("--since <when>", "events since 12h, 2d or a time such as 2026-11-22T09:00:00Z")
    .option("--all", "also what was delivered")
    .run(replay);
};

function defineChanges(webhooks: HomeportCommand): void {
  const types = () =>
    repeatable("--type <type>", "a type of events that it gets; repeat it for several", WebhookEventType.options);
  webhooks
    .command("create <url>")
    .description("create an endpoint and print its secret: this is the only time")
    .addOption(types())
    .option("--description <text>", "what it is for")
    .run(create);
  webhooks
    .command("edit <endpoint>")
    .description("change an endpoint")
    .option("--url <url>", "where deliveries are posted to")
    .addOption(types())
    .option("--description <text>", "what it is for")
    .run(edit);
  webhooks
    .command("rotate-secret <endpoint>")
    .description("replace the secret and print the new one. For a day both sign")
    .run(rotateSecret);
  webhooks.command("enable <endpoint>").description("deliver to it again").run(enable);
  webhooks.command("disable <endpoint>").description("deliver nothing to it").run(disable);
  webhooks
    .command("delete <endpoint>")
    .description("delete an endpoint with its deliveries")
    .option("--yes", "do not ask")
    .run(remove);
}
