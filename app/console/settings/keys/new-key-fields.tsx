import { keyOperations } from "@/lib/auth/api-keys/operations";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { Scope } from "@/lib/principal";
import { Field } from "../../../(web)/components/field";
import { ConfirmLink } from "../../components/confirm-link";
import { FieldError } from "../../components/field-error";
import { OperationForm } from "../../components/operation-form";
import { SelectField } from "../../components/select-field";
import type { ConsoleOperator } from "../../frame/operator";

const LIFETIMES = { 30: "30 days", 90: "90 days", 365: "1 year", never: "Does not expire" };

/** The form that creates a key. Without a recent sign-in, the page that asks for one comes first. */
export function NewKeyFields({ operator, flash }: { operator: ConsoleOperator; flash: Flash | null }) {
  if (!operator.isRecent) {
    return (
      <p>
        <ConfirmLink operator={operator} to="create a key" />
      </p>
    );
  }
  return (
    <OperationForm operation={keyOperations.createApiKey} flash={flash} className="form">
      <Field name="name" label="Name" hint="What the key is for, such as “Release pipeline”." required maxLength={80} />
      <fieldset>
        <legend>Scopes</legend>
        <p className="hint">A scope to write includes the one to read.</p>
        <FieldError name="scopes" />
        <div className="checks">
          {Scope.options.map((scope) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                name={`scopes.${scope}`}
                value="on"
                defaultChecked={flash?.values[`scopes.${scope}`] === "on"}
              />
              <code>{scope}</code>
            </label>
          ))}
        </div>
      </fieldset>
      <SelectField name="lifetime" label="Expires after" options={LIFETIMES} defaultValue="90" />
      <Field
        name="networks"
        label="Networks (optional)"
        hint="Only these may use the key, such as 203.0.113.0/24, 2001:db8::/32. Empty: all."
        autoComplete="off"
        spellCheck={false}
      />
      <button type="submit">Create key</button>
    </OperationForm>
  );
}
