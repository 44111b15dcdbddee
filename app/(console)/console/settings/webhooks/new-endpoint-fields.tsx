import { checkedNames } from "@/lib/platform/http/pages/checkboxes";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { typeField } from "@/lib/webhooks/form";
import { Form } from "../../../../(web)/components/form";
import { ConfirmLink } from "../../../actions/confirm-link";
import type { ConsoleOperator } from "../../../frame/operator";
import { EndpointFields } from "./endpoint-fields";

/** The form that creates an endpoint. Without a recent sign-in, the page that asks for one comes first. */
export function NewEndpointFields({ operator, flash }: { operator: ConsoleOperator; flash: Flash | null }) {
  if (!operator.isRecent) {
    return (
      <p>
        <ConfirmLink operator={operator} to="create an endpoint" />
      </p>
    );
  }
  return (
    <Form action="/forms/console/webhooks/create" flash={flash} className="form">
      <EndpointFields eventTypes={checkedNames(flash?.values ?? {}, typeField(""))} />
      <button type="submit">Create endpoint</button>
    </Form>
  );
}
