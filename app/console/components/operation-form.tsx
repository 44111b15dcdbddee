import type { ReactNode } from "react";
import { type FormOperation, formPath } from "@/lib/operation";
import { Form, type FormState } from "../../(web)/components/form";
import { requireOperator } from "../frame/operator";

type Props = {
  operation: FormOperation;
  /** Hidden fields. */
  params?: Record<string, string | undefined>;
  flash?: FormState | null;
  className?: string;
  children: ReactNode;
};

/** The form that runs an operation. It leads back to the page. */
export async function OperationForm({ operation, params, children, ...props }: Props) {
  const { pageUrl } = await requireOperator();
  return (
    <Form action={formPath(operation)} {...props}>
      {Object.entries({ ...params, returnTo: pageUrl }).map(
        ([name, value]) => value !== undefined && <input key={name} type="hidden" name={name} value={value} />,
      )}
      {children}
    </Form>
  );
}
