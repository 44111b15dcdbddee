import { operation } from "../../operation";
import { SentTestEvent, TestEvent, TestEventProviders } from "./schema";
import { listTestEvents, sendTestEvent } from "./send-test-event";

export const testEventOperations = {
  listTestEvents: operation({
    id: "listTestEvents",
    summary: "List the billing test events",
    description: "Lists the test events that can be sent, by provider, and the products that they can be about.",
    role: "support",
    scope: "billing:read",
    response: { description: "The providers.", schema: TestEventProviders },
    run: ({ ctx }) => listTestEvents(ctx),
  }),

  sendTestEvent: operation({
    id: "sendTestEvent",
    summary: "Send a billing test event",
    description:
      "Sends an event of a provider's sandbox about the account's test subscription to this service's own webhook, signed with the configured secret, so that it is verified, stored and applied as one from the provider is. The account is a sandbox tester for an hour, in which purchases outside of production give it access. An account has one test subscription for each provider, which each event continues.",
    role: "admin",
    stepUp: true,
    scope: "billing:write",
    idempotency: "replay",
    body: TestEvent,
    errors: ["validation_failed", "test_event_unavailable"],
    examples: { "A purchase": { type: "INITIAL_PURCHASE", accountId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11" } },
    response: { description: "The deliveries, and the account's status before and after.", schema: SentTestEvent },
    run: ({ ctx, operator, body }) => sendTestEvent(ctx, operator, body),
  }),
};
