import { type ComponentProps, type ReactNode, useId } from "react";
import type { FormOperation } from "@/lib/operation";
import { Field } from "../../(web)/components/field";
import { hasRole, requireOperator } from "../frame/operator";
import { OperationForm } from "./operation-form";

type Props = {
  operation: FormOperation;
  /** What the button on the page says. `name` is what it acts on, for screen readers: "Revoke CI". */
  label: string;
  name?: string;
  /** The question of the dialog, such as "Revoke “CI”?", and its button. A name is in <bdi>. */
  title: ReactNode;
  submit: string;
  /** Hidden fields. */
  params?: Record<string, string | undefined>;
  isDanger?: true;
  /** Whether the dialog asks for a reason, which the audit event keeps: the field `reason`. */
  reason?: "required" | "optional";
  /** What will happen, in numbers; and further fields. */
  children: ReactNode;
};

/**
 * A button for who may run an operation. It opens a dialog that says what will happen; its form is sent from there. The dialog is a
 * popover, which needs no script. Without a recent sign-in, a page asks for one before the form takes effect.
 */
export async function Action(props: Props) {
  const operator = await requireOperator();
  return hasRole(operator, props.operation.role === "support" ? "support" : "admin") ? <Dialog {...props} /> : null;
}

function Dialog({ operation, label, name, title, submit, params, isDanger, reason, children }: Props) {
  const id = useId();
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
        <OperationForm operation={operation} params={params}>
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
        </OperationForm>
      </div>
    </>
  );
}

/** A link that looks like a button. */
export function ButtonLink({ children, ...props }: ComponentProps<"a">) {
  return (
    <a className="button quiet" {...props}>
      {children}
    </a>
  );
}

/** A button that sends its form, and is not the main one of the page. */
export function QuietButton({ children }: { children: ReactNode }) {
  return (
    <button type="submit" className="quiet">
      {children}
    </button>
  );
}
