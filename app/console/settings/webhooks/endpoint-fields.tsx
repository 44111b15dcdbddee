import type { Flash } from "@/lib/platform/http/pages/flash";
import { WebhookEventType } from "@/lib/webhooks/events";
import { webhookOperations } from "@/lib/webhooks/operations";
import type { Endpoint } from "@/lib/webhooks/schema";
import { Field } from "../../../(web)/components/field";
import { FieldError } from "../../components/fields";
import { OperationForm } from "../../components/operation-form";

type Props = Partial<Pick<Endpoint, "url" | "eventTypes" | "description">>;

/** The fields of an endpoint, as they are. */
export function EndpointFields({ url, eventTypes = [], description }: Props) {
  return (
    <>
      <Field
        name="url"
        label="URL"
        type="url"
        hint="https, with a public address unless WEBHOOK_ALLOWED_NETWORKS has it."
        defaultValue={url}
        required
        maxLength={2_048}
        autoComplete="off"
        spellCheck={false}
      />
      <fieldset>
        <legend>Events</legend>
        <FieldError name="eventTypes" />
        <div className="checks">
          {WebhookEventType.options.map((type) => (
            <label key={type} className="check">
              <input
                type="checkbox"
                name={`eventTypes.${type}`}
                value="on"
                defaultChecked={eventTypes.includes(type)}
              />
              <code>{type}</code>
            </label>
          ))}
        </div>
      </fieldset>
      <Field
        name="description"
        label="Description (optional)"
        hint="What the endpoint is for."
        defaultValue={description ?? undefined}
        maxLength={200}
        autoComplete="off"
      />
    </>
  );
}

/** The form that creates an endpoint. Without a recent sign-in, the page that asks for one comes first. */
export function NewEndpointFields({ flash }: { flash: Flash | null }) {
  return (
    <OperationForm
      operation={webhookOperations.createWebhookEndpoint}
      confirmTo="create an endpoint"
      flash={flash}
      className="form"
    >
      <EndpointFields eventTypes={WebhookEventType.options.filter((type) => flash?.values[`eventTypes.${type}`])} />
      <button type="submit">Create endpoint</button>
    </OperationForm>
  );
}
