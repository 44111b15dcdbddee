import type { ComponentProps } from "react";
import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { Action } from "../../components/action";
import { formatCount } from "../../components/format-numbers";

type Props = Omit<ComponentProps<typeof Action>, "reason"> & { account: AccountDetails };

/** An action on the account of the page. It asks for the reason. */
export function AccountAction({ account, params, ...props }: Props) {
  return <Action {...props} params={{ accountId: account.id, ...params }} reason="required" />;
}

const PLURALS: Record<string, string> = { identity: "identities" };

/** "1 session", "3 sessions". */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${count === 1 ? noun : (PLURALS[noun] ?? `${noun}s`)}`;
}

/** "ends 3 sessions and removes 2 devices, which get no more notifications." */
export function endsSessions({ sessions, devices }: AccountDetails): string {
  const ended = `ends ${countOf(sessions.length, "session")}`;
  if (devices.length === 0) return `${ended}.`;
  const gets = devices.length === 1 ? "gets" : "get";
  return `${ended} and removes ${countOf(devices.length, "device")}, which ${gets} no more notifications.`;
}

/** The text as the beginning of a sentence. */
export const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
