import type { Context } from "@/lib/context";
import { explainAccess } from "@/lib/subscriptions/access/explain-access";
import type { AccessAction, AccessReason } from "@/lib/subscriptions/access/schema";
import { Filters, InputFilter } from "../../components/filters";
import { Section } from "../../components/headings";
import { type ConsoleOperator, hasRole } from "../../frame/operator";

type Props = { ctx: Context; operator: ConsoleOperator; accountId: string; entitlement: string | undefined };

/** Why the customer has access or not, and what the operator can do. */
export async function Access({ ctx, operator, accountId, entitlement }: Props) {
  const { text, reasons } = await explainAccess(ctx, accountId, { entitlement });
  return (
    <Section title="Access">
      <p>
        <strong>
          <bdi>{text}</bdi>
        </strong>
      </p>
      <Filters>
        <InputFilter name="entitlement" label="Entitlement" value={entitlement} hint="any, or its id" />
      </Filters>
      <ul className="reasons">
        {reasons.map((reason) => (
          <Reason key={`${reason.code} ${reason.text}`} reason={reason} operator={operator} />
        ))}
      </ul>
    </Section>
  );
}

function Reason({ reason: { code, text, actions }, operator }: { reason: AccessReason; operator: ConsoleOperator }) {
  const allowed = actions.filter(({ role }) => hasRole(operator, role));
  return (
    <li>
      <p title={code}>
        <bdi>{text}</bdi>
      </p>
      {allowed.length > 0 && (
        <ul>
          {allowed.map((action) => (
            <li key={action.text}>
              <Todo {...action} />
            </li>
          ))}
        </ul>
      )}
      {allowed.length < actions.length && <p className="muted">An admin can do more.</p>}
    </li>
  );
}

function Todo({ text, path, command }: AccessAction) {
  if (path !== null) return <a href={path}>{text}</a>;
  return (
    <>
      {text} {command && <code>{command}</code>}
    </>
  );
}
