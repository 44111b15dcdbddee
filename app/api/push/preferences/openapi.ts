import { PREFERENCES } from "@/app/api/push/openapi-examples";
import type { OperationDetails } from "@/scripts/openapi/operation";

export const GET: OperationDetails = {
  operationId: "showPushPreferences",
  description: "Shows the preferences of the account. An account that has chosen nothing is notified of everything.",
  responses: { 200: { description: "The preferences.", examples: { "With quiet hours": PREFERENCES } } },
};

export const PUT: OperationDetails = {
  operationId: "replacePushPreferences",
  description:
    "Replaces the preferences of the account: a kind that is left out is on, and without `quietHours` there are none. Queued notifications of kinds that are turned off are canceled. During the quiet hours, by the time zone that each device has registered, notifications wait until their end, and those that expire meanwhile are dropped. Challenges and notifications about security are sent at any time, and so is everything to a device that has registered no time zone.",
  requests: {
    "Turn off renewals, and keep the night quiet": {
      kinds: { "billing.renewed": false },
      quietHours: { startsAt: "22:00", endsAt: "07:00" },
    },
  },
  responses: { 200: { description: "The preferences.", examples: { "With quiet hours": PREFERENCES } } },
};
