import { z } from "zod";
import { checkedNames } from "../platform/http/pages/checkboxes";
import { parseUtc, UtcText } from "../platform/storable-time";
import { WebhookEventType } from "./events";
import { EndpointParams, NewEndpoint } from "./schema";

/** The types of events that an endpoint can get. */
export const EVENT_TYPES = WebhookEventType.options;

/** The name of the checkbox of an event's type. */
export const typeField = (type: string): string => `type.${type}`;

const Fields = z.object({
  url: NewEndpoint.shape.url,
  eventTypes: z.array(z.string()).pipe(NewEndpoint.shape.eventTypes),
  description: NewEndpoint.shape.description.default(null),
});
const withTypes = z
  .looseObject({})
  .transform((fields) => ({ ...fields, eventTypes: checkedNames(fields, typeField("")) }));

/** The fields of the form that creates an endpoint. */
export const NewEndpointForm = withTypes.pipe(Fields);

/**
 * The fields of the form that changes an endpoint: all of them, and the `endpointState` that it has shown. No
 * description removes it.
 */
export const EditEndpointForm = withTypes.pipe(
  Fields.extend({ ...EndpointParams.shape, previewed: z.string().max(64) }),
);

/** The field of the form that disables or enables an endpoint. */
export const ToggleForm = EndpointParams.extend({ enabled: z.enum(["true", "false"]) });

/** The fields of the form that replays events. */
export const ReplayForm = EndpointParams.extend({
  since: UtcText.transform(parseUtc),
  all: z.literal("on").optional(),
});

/** Which secret the page of an endpoint shows once: see `setShownSecretCookie`. */
export const webhookSecretKind = (endpointId: string): string => `webhook:${endpointId}`;
