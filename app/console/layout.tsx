import type { ReactNode } from "react";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/forms.css";
import "./styles/tables.css";
import "./styles/charts.css";
import "./styles/billing.css";
import "./styles/overview.css";
import "./styles/accounts.css";
import "./styles/push.css";
import "./styles/guides.css";

export const metadata = { title: { template: "%s – Console", default: "Console" }, robots: { index: false } };

/** The frame of the console is drawn by `consolePage`, which knows the operator and the page. */
export default function Layout({ children }: { children: ReactNode }) {
  return (
    <div className="console" lang="en">
      {children}
    </div>
  );
}
