import type { ComponentProps } from "react";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { Action } from "../../components/action";

type Props = Omit<ComponentProps<typeof Action>, "reason"> & { account: AccountDetails };

/** An action on the account of the page. It asks for the reason. */
export function AccountAction({ account, params, ...props }: Props) {
  return <Action {...props} params={{ accountId: account.id, ...params }} reason="required" />;
}
