import { z } from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from "zod-openapi";
import { WEBHOOK_EVENTS } from "@/lib/webhooks/events";
import { parameter } from "./headers";

/** The requests that the service sends to webhook endpoints: Standard Webhooks 1.0.0. */
export function describeWebhooks(): ZodOpenApiPathsObject {
  const described = Object.entries(WEBHOOK_EVENTS).map(([type, { summary, data, example }]) => {
    const name = type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const schema = z
      .object({ type: z.literal(type), timestamp: z.iso.datetime().describe("When it happened."), data })
      .meta({ id: `${name}Event`, description: `${summary}.` });
    const value = { type, timestamp: "2026-11-22T09:00:00.000Z", data: example };
    const content = { "application/json": { schema, examples: { event: { summary: "An event", value } } } };
    const post: ZodOpenApiOperationObject = {
      operationId: `receive${name}`,
      summary,
      description: "Verify the signature over the body as it was received. Fields may be added.",
      tags: ["Webhooks"],
      security: [],
      parameters: ["EventId", "DeliveredAt", "Signature"].map(parameter),
      requestBody: { required: true, content },
      responses: {
        "2XX": { description: "It has arrived. Respond within ten seconds." },
        410: { description: "The endpoint is gone: the service disables it." },
        default: {
          description:
            "It has not arrived, also with a redirect. There are ten attempts within four days, after 429 and 503 not before the time in `Retry-After`.",
        },
      },
    };
    return [type, { post }];
  });
  return Object.fromEntries(described);
}
