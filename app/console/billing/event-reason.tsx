import { cache } from "react";
import { readGuideRow } from "@/lib/platform/guides";

/** What an event's reason means and what to do, as the billing guide says; the code itself if the guide does not have it. */
export const describeReason = cache(async (reason: string): Promise<string> => {
  const [meaning = reason, advice = ""] = await readGuideRow("billing", reason);
  return `${meaning} ${advice.replace(/^Nothing\b/, "There is nothing to do")}`.replaceAll("`", "").trim();
});

/** The meaning of an event's reason in a list. */
export async function EventReason({ reason }: { reason: string | null }) {
  return reason && <span title={reason}>{await describeReason(reason)}</span>;
}
