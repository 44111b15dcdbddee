import type { ReactNode } from "react";
import { type FormOperation, formPath } from "@/lib/operation";
import { confirmPath } from "@/lib/platform/http/pages/redirect-paths";
import { Form, type FormState } from "../../(web)/components/form";
import { requireOperator } from "../frame/operator";

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
  const { isRecent, pageUrl } = await requireOperator();
  if (confirmTo !== undefined && !isRecent) {
    return (
      <p>
        <a className="button" href={confirmPath(pageUrl)}>
          {`Confirm that it’s you to ${confirmTo}`}
        </a>
      </p>
    );
  }
  return (
    <Form action={formPath(operation)} {...props}>
      {Object.entries({ ...params, returnTo: pageUrl }).map(
        ([name, value]) => value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
      {children}
    </Form>
  );
}
