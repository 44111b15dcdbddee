import { operatorOperations } from "@/lib/accounts/admin/operations";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { Field } from "../../../(web)/components/field";
import { ConfirmLink } from "../../components/confirm-link";
import { Section } from "../../components/headings";
import { OperationForm } from "../../components/operation-form";
import { SelectField } from "../../components/select-field";
import type { ConsoleOperator } from "../../frame/operator";
import { OPERATOR_ROLES } from "./roles";

/** The form that gives an account a role. Without a recent sign-in, the page that asks for one comes first. */
export function AddOperator({ operator, flash }: { operator: ConsoleOperator; flash: Flash | null }) {
  return (
    <Section title="Add an operator">
      {operator.isRecent ? (
        <OperationForm operation={operatorOperations.grantRole} flash={flash} className="form">
          <Field
            name="email"
            label="Email"
            hint="Of an account. Its owner should have a second factor."
            type="email"
            required
            autoComplete="off"
          />
          <SelectField name="role" label="Role" options={OPERATOR_ROLES} defaultValue="support" />
          <Field name="reason" label="Reason (optional)" hint="Recorded in the audit trail." maxLength={500} />
          <button type="submit">Give the role</button>
        </OperationForm>
      ) : (
        <p>
          <ConfirmLink operator={operator} to="add an operator" />
        </p>
      )}
    </Section>
  );
}
