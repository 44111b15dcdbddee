import { type ConsoleOperator, hasRole, type OperatorRole } from "./operator";

type Entry = { href: string; label: string; icon?: keyof typeof ICONS; role?: OperatorRole };

const SUBJECTS: Entry[] = [
  { href: "/console", label: "Overview", icon: "overview" },
  { href: "/console/accounts", label: "Accounts", icon: "accounts" },
  { href: "/console/billing", label: "Billing", icon: "billing" },
  { href: "/console/releases", label: "Releases", icon: "releases" },
  { href: "/console/push", label: "Push", icon: "push" },
];

const SETTINGS: Entry[] = [
  { href: "/console/settings", label: "Configuration", icon: "configuration" },
  { href: "/console/settings/operators", label: "Operators", icon: "operators" },
  { href: "/console/settings/keys", label: "API keys", icon: "keys", role: "admin" },
  { href: "/console/settings/publishers", label: "Publishers", icon: "publishers", role: "admin" },
  { href: "/console/settings/webhooks", label: "Webhooks", icon: "webhooks" },
  { href: "/console/settings/audit", label: "Audit trail", icon: "audit", role: "admin" },
];

/** The pages of the console, the present one marked. */
export function Navigation({ operator }: { operator: ConsoleOperator }) {
  const current = findCurrent(operator.pageUrl);
  const list = (entries: Entry[]) => (
    <ul>
      {entries
        .filter(({ role = "support" }) => hasRole(operator, role))
        .map(({ href, label, icon }) => (
          <li key={href}>
            <a href={href} aria-current={href === current ? "page" : undefined}>
              {icon && (
                <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
                  <path d={ICONS[icon]} />
                </svg>
              )}
              {label}
            </a>
          </li>
        ))}
    </ul>
  );
  return (
    <nav aria-label="Console">
      {list(SUBJECTS)}
      <h2>Settings</h2>
      {list(SETTINGS)}
    </nav>
  );
}

/** The entry that a page belongs to: the longest path that it begins with. */
function findCurrent(pageUrl: string): string | undefined {
  const path = pageUrl.split("?", 1)[0] ?? "";
  const isBelow = (href: string) => href !== "/console" && path.startsWith(`${href}/`);
  const matches = [...SUBJECTS, ...SETTINGS].filter(({ href }) => path === href || isBelow(href));
  return matches.map(({ href }) => href).sort((a, b) => b.length - a.length)[0];
}

/** Outlines of 20 × 20, drawn with a stroke. */
const ICONS = {
  overview: "M3 3h6v6H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 11h6v6H3z",
  accounts: "M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3.5 17c.6-3.2 3.2-5 6.5-5s5.9 1.8 6.5 5",
  billing: "M2.5 5h15v10h-15zM2.5 8.5h15M5 12h4",
  releases: "M10 2.5l6.5 3.5v8L10 17.5 3.5 14V6zM3.5 6L10 9.5 16.5 6M10 9.5v8",
  push: "M5 13.5V9a5 5 0 0 1 10 0v4.5l1.5 1.5h-13zM8.5 17.5h3",
  configuration: "M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4",
  operators: "M10 2.5l6 2.5v4.5c0 4-2.6 6.6-6 8-3.4-1.4-6-4-6-8V5zM7.5 10l2 2 3.5-4",
  keys: "M6.5 13.5a3.5 3.5 0 1 1 3.3-4.7H17v3h-2.5v2h-2.5v-2H9.8a3.5 3.5 0 0 1-3.3 1.7zM6.5 10h.01",
  publishers: "M3 7l7-4 7 4v6l-7 4-7-4zM7 10l2.2 2.2L13.5 8",
  webhooks: "M3 10h8M8 7l3 3-3 3M12 4.5a6 6 0 1 1 0 11",
  audit: "M5 2.5h7l3.5 3.5v11.5h-10.5zM12 2.5V6h3.5M7.5 10h5M7.5 13h5",
} as const;
