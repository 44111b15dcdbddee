import type { Delivery } from "@/lib/push/admin/schema";

/** What a message is called: its title, the version that it announces, or its kind if operators did not write it. */
export function messageName({ kind, title }: Pick<Delivery, "kind" | "title">): string {
  if (title === null) return kind ?? "Removed";
  return kind === "app.new_version" ? `Version ${title}` : title;
}
