// Programs that read from the API, ready to run with only the standard library of each language.

export const languages = [
  { value: 'curl', label: 'curl' },
  { value: 'python', label: 'Python' },
  { value: 'javascript', label: 'JavaScript' },
  { value: 'go', label: 'Go' },
] as const;

export type Language = (typeof languages)[number]['value'];

/**
 * A program that reads an address and prints the response. An empty key omits the header. The address is encoded, and a
 * key consists of letters, digits and underscores, so neither can end a quoted string.
 */
export function snippet(language: Language, url: string, key: string): string {
  return programs[language](url, key).trim() + '\n';
}

const programs: Record<Language, (url: string, key: string) => string> = {
  curl: (url, key) => `curl${key ? ` -H 'Authorization: Bearer ${key}'` : ''} '${url}'`,

  python: (url, key) => `
import json
import urllib.request

request = urllib.request.Request("${url}")${key ? `\nrequest.add_header("Authorization", "Bearer ${key}")` : ''}
with urllib.request.urlopen(request, timeout=30) as response:
    data = json.load(response)

print(json.dumps(data, indent=2))`,

  javascript: (url, key) => `
const response = await fetch("${url}"${key ? `, {\n  headers: { Authorization: "Bearer ${key}" },\n}` : ''});
if (!response.ok) throw new Error(\`\${response.status}: \${await response.text()}\`);
const data = await response.json();

console.log(JSON.stringify(data, null, 2));`,

  go: (url, key) => `
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	request, err := http.NewRequest("GET", "${url}", nil)
	if err != nil {
		log.Fatal(err)
	}${key ? `\n	request.Header.Set("Authorization", "Bearer ${key}")` : ''}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		log.Fatal(response.Status)
	}
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
}`,
};

/** The placeholder for a key. */
export const noKey = 'YOUR_API_KEY';
