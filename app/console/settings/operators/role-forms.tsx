import { operatorOperations } from "@/lib/accounts/admin/operations";
import type { ListedOperator } from "@/lib/accounts/admin/operators";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { Field } from "../../../(web)/components/field";
import { Action } from "../../components/action";
import { SelectField } from "../../components/fields";
import { Section } from "../../components/headings";
import { OperationForm } from "../../components/operation-form";

const OPERATOR_ROLES = {
  support: "Support: views customers and queues, ends sessions",
  admin: "Admin: may do everything",
};

/** The form that gives an account a role. Without a recent sign-in, the page that asks for one comes first. */
export function AddOperator({ flash }: { flash: Flash | null }) {
  return (
    <Section title="Add an operator">
      <OperationForm
        operation={operatorOperations.grantRole}
        confirmTo="add an operator"
        flash={flash}
        className="form"
      >
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
    </Section>
  );
}

/** The button that gives an operator another role, or none. */
export function ChangeRole({ listed, isSelf }: { listed: ListedOperator; isSelf: boolean }) {
  const { email, role } = listed;
  return (
    <Action
      operation={operatorOperations.grantRole}
      label="Change role"
      name={`of ${email}`}
      title={`Change the role of ${email}`}
      submit="Change the role"
      params={{ email }}
      reason="optional"
    >
      <SelectField
        name="role"
        label="Role"
        options={{ ...OPERATOR_ROLES, user: "None: a customer" }}
        defaultValue={role === "admin" ? "support" : "admin"}
      />
      <p>
        {isSelf
          ? "This is your own account: without a role you leave the console at once. The only admin keeps theirs."
          : "The sessions of the account have the role at once. It can be changed back at any time."}
      </p>
    </Action>
  );
}
