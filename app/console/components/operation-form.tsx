import type { ReactNode } from "react";
import { type FormOperation, formPath } from "@/lib/operation";
import { confirmPath } from "@/lib/platform/http/pages/redirect-paths";
import { Form, type FormState } from "../../(web)/components/form";
import { type ConsoleOperator, requireOperator } from "../frame/operator";

type Props = {
  operation: FormOperation;
  /** Hidden fields. */
  params?: Record<string, string | undefined>;
  flash?: FormState | null;
  className?: string;
  /** What the operator wants, such as "create a key": without a recent sign-in, a link to confirm it is in place of the form. */
  confirmTo?: string;
  children: ReactNode;
};

/** The form that runs an operation. It leads back to the page. */
export async function OperationForm({ operation, params, confirmTo, children, ...props }: Props) {
  const operator = await requireOperator();
  if (confirmTo !== undefined && !operator.isRecent) return <ConfirmLink operator={operator} to={confirmTo} />;
  return (
    <Form action={formPath(operation)} {...props}>
      {Object.entries({ ...params, returnTo: operator.pageUrl }).map(
        ([name, value]) => value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
      {children}
    </Form>
  );
}

type LinkProps = { operator: ConsoleOperator; to: string; isQuiet?: boolean };

/** For an operator without a recent sign-in: leads to the page that asks for one, and back. */
export function ConfirmLink({ operator, to, isQuiet = false }: LinkProps) {
  return (
    <p>
      <a className={isQuiet ? "button quiet" : "button"} href={confirmPath(operator.pageUrl)}>
        {`Confirm that it’s you to ${to}`}
      </a>
    </p>
  );
}
