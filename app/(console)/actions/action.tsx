import { type ReactNode, useId } from "react";
import { Field } from "../../(web)/components/field";
import { Form } from "../../(web)/components/form";
import { hasRole, type OperatorRole, requireOperator } from "../frame/operator";

type Props = {
  /** The path of the form's route: see `defineConsoleForm`. */
  form: string;
  /** What the button on the page says. `name` is what it acts on, for screen readers: "Revoke CI". */
  label: string;
  name?: string;
  /** The question of the dialog, such as "Revoke “CI”?", and its button. A name is in <bdi>. */
  title: ReactNode;
  submit: string;
  /** Hidden fields. */
  values?: Record<string, string>;
  /** Who sees the button. Default: admins. */
  role?: OperatorRole;
  isDanger?: true;
  /** Whether the dialog asks for a reason, which the audit event keeps: the field `reason`. */
  reason?: "required" | "optional";
  /** What will happen, in numbers; and further fields. */
  children: ReactNode;
};

/**
 * A button that changes something. It opens a dialog that says what will happen; its form is sent from there. The dialog is a
 * popover, which needs no script. Without a recent sign-in, a page asks for one before the form takes effect.
 */
export async function Action({ role = "admin", ...props }: Props) {
  const operator = await requireOperator();
  return hasRole(operator, role) ? <Dialog {...props} returnTo={operator.pageUrl} /> : null;
}

function Dialog({
  form,
  label,
  name,
  title,
  submit,
  values = {},
  isDanger,
  reason,
  returnTo,
  children,
}: Omit<Props, "role"> & { returnTo: string }) {
  const id = useId();
  const fields = Object.entries({ ...values, returnTo });
  return (
    <>
      <button
        type="button"
        className={isDanger ? "quiet danger" : "quiet"}
        popoverTarget={id}
        aria-label={name && `${label} ${name}`}
      >
        {label}
      </button>
      <div className="dialog" id={id} popover="auto" role="dialog" aria-labelledby={`${id}-title`}>
        <h2 id={`${id}-title`}>{title}</h2>
        <Form action={form}>
          {fields.map(([key, value]) => (
            <input key={key} type="hidden" name={key} value={value} />
          ))}
          {children}
          {reason && (
            <Field
              name="reason"
              label={reason === "required" ? "Reason" : "Reason (optional)"}
              hint="Recorded in the audit trail."
              required={reason === "required"}
              maxLength={500}
              autoComplete="off"
            />
          )}
          <div className="buttons">
            <button type="submit" className={isDanger && "danger"}>
              {submit}
            </button>
            <button type="button" className="quiet" popoverTarget={id} popoverTargetAction="hide">
              Cancel
            </button>
          </div>
        </Form>
      </div>
    </>
  );
}
