import type { ReactNode } from "react";
import { Form } from "../../(web)/components/form";
import { ReloadRestoredPage } from "../../(web)/components/reload-restored-page";
import { FindField } from "./find-field";
import { Navigation } from "./navigation";
import type { ConsoleOperator } from "./operator";

type Props = { operator: ConsoleOperator; children: ReactNode };

/** What surrounds each page of the console. On narrow screens the sidebar is a popover, which needs no script. */
export function ConsoleFrame({ operator, children }: Props) {
  const { email, role } = operator.account;
  return (
    <>
      <header className="console-header">
        <div className="topbar">
          <Brand />
          <button type="button" className="quiet" popoverTarget="sidebar">
            Menu
          </button>
        </div>
        <div className="sidebar" id="sidebar" popover="auto">
          <Brand />
          <Navigation operator={operator} />
          <div className="signed-in">
            <p>
              <a href="/account" title={email}>
                {email}
              </a>
              <span>{role === "admin" ? "Admin" : "Support"}</span>
            </p>
            <Form action="/forms/sign-out">
              <button type="submit" className="link">
                Sign out
              </button>
            </Form>
            <a href="/">Public pages</a>
          </div>
        </div>
      </header>
      <FindField value={searchedText(operator.pageUrl)} />
      <main id="content">{children}</main>
      <ReloadRestoredPage />
    </>
  );
}

/** What the page of results was asked for. */
function searchedText(pageUrl: string): string {
  const { pathname, searchParams } = new URL(pageUrl, "http://console");
  return pathname === "/console/search" ? (searchParams.get("query") ?? "") : "";
}

function Brand() {
  return (
    <a className="console-brand" href="/console">
      Homeport <span>Console</span>
    </a>
  );
}
