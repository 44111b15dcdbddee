import type { ComponentProps } from "react";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { Action } from "../../../actions/action";

type Props = Omit<ComponentProps<typeof Action>, "reason" | "role"> & {
  account: AccountDetails;
  /** Whether support may do it, too. */
  isForSupport?: true;
};

/** An action on the account of the page. It asks for the reason. `form` is the last part of the form's path. */
export function AccountAction({ account, form, isForSupport, values = {}, ...props }: Props) {
  return (
    <Action
      {...props}
      {...(isForSupport ? { role: "support" as const } : {})}
      form={`/forms/console/accounts/${form}`}
      values={{ accountId: account.id, ...values }}
      reason="required"
    />
  );
}
