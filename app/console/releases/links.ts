import type { ReleaseAction } from "@/lib/releases/publishing/release-action";

type Version = { product: string; channel: string; version: string };

/** The page that shows what an action would do, before it is confirmed. */
export function actionPath(
  { product, channel, version }: Version,
  action: ReleaseAction["action"],
  fields: Record<string, string> = {},
): string {
  return `/console/releases/change?${new URLSearchParams({ action, product, channel, version, ...fields })}`;
}
