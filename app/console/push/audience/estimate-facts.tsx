import { AudienceFields, toAudience, toSendAt } from "@/lib/push/admin/drafts";
import type { Estimate } from "@/lib/push/admin/schema";
import { Facts } from "../../components/facts";
import { formatCount } from "../../components/format-numbers";
import { ExactTime } from "../../components/time";
import { audienceText } from "./audience-text";

/** For whom a message is, how many devices that is, and how long it takes. */
export function EstimateFacts({ estimate, fields }: { estimate: Estimate; fields: AudienceFields }) {
  const sendAt = toSendAt(fields);
  return (
    <Facts
      entries={[
        ["To", audienceText(toAudience(fields))],
        ["Devices", countText(estimate)],
        ["Takes", durationText(estimate.seconds)],
        ["Sent", sendAt ? <ExactTime key="sent" at={sendAt} /> : "Now"],
      ]}
    />
  );
}

/** How many devices, such as "about 200,000 devices". */
export function countText({ devices, isExact }: Estimate): string {
  return `${isExact ? "" : "about "}${formatCount(devices)} ${devices === 1 ? "device" : "devices"}`;
}

/** A duration in its largest unit that is not below two. */
export function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} ${seconds === 1 ? "second" : "seconds"}`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`;
}

/** The fields as the hidden inputs of a form send them. */
export function hiddenValues(fields: AudienceFields): Record<string, string> {
  const names = AudienceFields.keyof().options;
  return Object.fromEntries(names.map((name) => [name, String(fields[name] ?? "")]));
}
