import { confirmPath } from "@/lib/platform/http/pages/redirect-paths";
import type { ConsoleOperator } from "../frame/operator";

type Props = {
  operator: ConsoleOperator;
  /** What the operator wants, such as "create a key". */
  to: string;
  isQuiet?: boolean;
};

/** In place of a form, for an operator without a recent sign-in: leads to the page that asks for one, and back. */
export function ConfirmLink({ operator, to, isQuiet = false }: Props) {
  return (
    <a className={isQuiet ? "button quiet" : "button"} href={confirmPath(operator.pageUrl)}>
      {`Confirm that it’s you to ${to}`}
    </a>
  );
}
