import { Tabs } from "../components/tabs";

const TABS = [
  { href: "/console/push", label: "Outcomes" },
  { href: "/console/push/deliveries", label: "Deliveries" },
  { href: "/console/push/send", label: "Send" },
  { href: "/console/push/audience", label: "Send to many" },
  { href: "/console/push/announce", label: "Announce" },
  { href: "/console/push/mail", label: "Mail queue" },
];

/** The parts of the subject. */
export function PushTabs({ current }: { current: string }) {
  return <Tabs label="Push and email" tabs={TABS.map((tab) => ({ ...tab, isCurrent: tab.href === current }))} />;
}
