import { operatorOperations } from "@/lib/accounts/admin/operations";
import type { ListedOperator } from "@/lib/accounts/admin/operators";
import { Action } from "../../components/action";
import { SelectField } from "../../components/select-field";
import { OPERATOR_ROLES } from "./roles";

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
