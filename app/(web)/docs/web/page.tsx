import { GroupPage } from "../reference/group-page";

export const metadata = { title: "API for the web app and accounts" };

export default function Page() {
  return <GroupPage slug="web" />;
}
