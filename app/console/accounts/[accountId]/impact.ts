import type { AccountDetails } from "@/lib/accounts/admin/schema";
import { formatCount } from "../../components/format-numbers";

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
