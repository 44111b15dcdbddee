import { GroupPage } from "../reference/group-page";

export const metadata = { title: "API for the web app and accounts" };
export const isStatic = true;

export default function Page() {
  return <GroupPage slug="web" />;
}
