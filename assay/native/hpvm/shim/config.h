// HPVM's build writes settings here; its programs include it, and need none of them.
#pragma once
