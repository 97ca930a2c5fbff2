// Builds what the npm package contains: dist, and the license, which npm takes only from this folder.
import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import './generate-types.js';

const folder = resolve(import.meta.dirname, '..');
rmSync(resolve(folder, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc'], { cwd: folder, stdio: 'inherit' });
copyFileSync(resolve(folder, '../../LICENSE'), resolve(folder, 'LICENSE'));
